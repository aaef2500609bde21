//===- RuleRows.h - rows without materialising them -------------*- C++ -*-===//
//
// Matching runs for each recorded op, so it works on row ids: three integers
// from which every placement of the row follows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Sharding/PlacementRule.h"

namespace dtorch::rule_rows {

/// One row of a bound rule: all R, a sharded factor, or a partial clause.
struct RowId {
  int64_t factor = -1;
  bool select = false; ///< the factor's select operands stay R
  int64_t partial = -1;
  bool operator==(const RowId &) const = default;
};

/// The dim of a tensor that shards by the factor, or -1.
inline int64_t dimOf(const std::vector<DimFactor> &dims, int64_t factor) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].factor == factor)
      return d;
  return -1;
}

/// Whether there are rows for the factor: it is not whole, has elements, and
/// results hold it or are left pending.
bool canShard(const BoundRule &rule, int64_t factor);

std::vector<RowId> rowIds(const BoundRule &rule);
/// Position of a row in rows(), and their number.
int64_t rowIndex(const BoundRule &rule, const RowId &row);
int64_t numRows(const BoundRule &rule);

/// Placements of a row, without units.
Placement operandPlacement(const BoundRule &rule, const RowId &row,
                           int64_t operand);
Placement resultPlacement(const BoundRule &rule, const RowId &row,
                          int64_t result);

/// The row that operands (and results, where given) have on a mesh axis, units
/// aside; nullopt if there is none. With operands alone the first such row.
std::optional<RowId> rowOnAxis(const BoundRule &rule,
                               std::span<const Sharding *const> operands,
                               std::span<const Sharding *const> results,
                               int64_t axis);

/// How a factor is cut: by which axes (a bit each), into how many parts, and in
/// blocks of how many fine elements. Unit 0 stands for an even cut.
struct FactorCut {
  int64_t factor;
  uint64_t axes;
  int64_t parts;
  int64_t unit = 0;
};

/// Fine unit of a dim of n indices cut into `parts`: 0 if blocks divide evenly.
/// Two cuts of one factor agree on every device exactly if these are equal,
/// since nested balanced splits give floor or ceil of blocks/parts blocks.
inline int64_t fineUnit(int64_t n, int64_t granule, int64_t unit,
                        int64_t parts) {
  return n / unit % parts == 0 ? 0 : unit * granule;
}

/// The unit a dim of n indices must have to be cut so; 0 if it cannot be.
inline int64_t unitFor(const FactorCut &cut, int64_t n, int64_t granule) {
  if (cut.unit == 0)
    return n % cut.parts == 0 ? 1 : 0;
  return cut.unit % granule == 0 ? cut.unit / granule : 0;
}

/// Whether a tensor dim, sharded on only some of the axes that cut the factor
/// (a select operand), holds on every device all that the finer cut needs.
bool holdsCut(const BoundRule &rule, const DeviceMesh &mesh,
              const FactorCut &cut, int64_t granule, uint64_t dimAxes,
              int64_t dimUnit);

/// The factors that the rows (one per axis) shard, without units.
std::vector<FactorCut> cutsOfRows(std::span<const RowId> rows,
                                  const DeviceMesh &mesh);

/// Reads the cuts' units off the tensors; false if they disagree somewhere.
bool readCuts(const BoundRule &rule, std::span<const Sharding *const> operands,
              std::span<const Sharding *const> results,
              std::vector<FactorCut> &cuts);

} // namespace dtorch::rule_rows
