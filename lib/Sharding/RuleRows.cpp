//===- RuleRows.cpp - the rows of a bound rule, and matching --------------===//

#include "RuleRows.h"

#include "dtorch/Sharding/ShardLaw.h"

#include <algorithm>

using namespace dtorch;
using namespace dtorch::rule_rows;

static bool contains(const std::vector<int64_t> &list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

static bool inAny(const std::vector<std::vector<DimFactor>> &tensors,
                  int64_t factor) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const auto &dims) {
    return dimOf(dims, factor) >= 0;
  });
}

bool rule_rows::canShard(const BoundRule &rule, int64_t f) {
  const Factor &factor = rule.factors[f];
  if (factor.whole || factor.size == 0)
    return false;
  return inAny(rule.results, f) || (factor.reduce && inAny(rule.operands, f));
}

//===----------------------------------------------------------------------===//
// Enumeration
//===----------------------------------------------------------------------===//

std::vector<RowId> rule_rows::rowIds(const BoundRule &rule) {
  std::vector<RowId> ids = {RowId{}};
  for (int64_t f = 0; f < (int64_t)rule.factors.size(); ++f) {
    if (!canShard(rule, f))
      continue;
    ids.push_back({f, false, -1});
    if (!rule.factors[f].selectOperands.empty())
      ids.push_back({f, true, -1});
  }
  for (int64_t p = 0; p < (int64_t)rule.partials.size(); ++p)
    ids.push_back({-1, false, p});
  return ids;
}

static int64_t rowsBeforeFactor(const BoundRule &rule, int64_t factor) {
  int64_t count = 1;
  for (int64_t f = 0; f < factor; ++f)
    if (canShard(rule, f))
      count += rule.factors[f].selectOperands.empty() ? 1 : 2;
  return count;
}

int64_t rule_rows::rowIndex(const BoundRule &rule, const RowId &row) {
  if (row.partial >= 0)
    return rowsBeforeFactor(rule, rule.factors.size()) + row.partial;
  return row.factor < 0 ? 0 : rowsBeforeFactor(rule, row.factor) + row.select;
}

int64_t rule_rows::numRows(const BoundRule &rule) {
  return rowsBeforeFactor(rule, rule.factors.size()) + rule.partials.size();
}

Placement rule_rows::operandPlacement(const BoundRule &rule, const RowId &row,
                                      int64_t operand) {
  if (row.partial >= 0) {
    const PartialClause &clause = rule.partials[row.partial];
    return contains(clause.operands, operand) ? Placement::partial(clause.kind)
                                              : Placement::replicate();
  }
  if (row.factor < 0)
    return Placement::replicate();
  int64_t dim = dimOf(rule.operands[operand], row.factor);
  if (dim < 0 || (row.select &&
                  contains(rule.factors[row.factor].selectOperands, operand)))
    return Placement::replicate();
  return Placement::shard(dim);
}

Placement rule_rows::resultPlacement(const BoundRule &rule, const RowId &row,
                                     int64_t result) {
  if (row.partial >= 0)
    return Placement::partial(rule.partials[row.partial].kind);
  if (row.factor < 0)
    return Placement::replicate();
  int64_t dim = dimOf(rule.results[result], row.factor);
  if (dim >= 0)
    return Placement::shard(dim);
  const auto &reduce = rule.factors[row.factor].reduce;
  return reduce ? Placement::partial(*reduce) : Placement::replicate();
}

std::vector<Row> BoundRule::rows() const {
  std::vector<Row> rows;
  for (const RowId &id : rowIds(*this)) {
    Row row;
    row.factor = id.factor;
    for (size_t i = 0; i < operands.size(); ++i)
      row.operands.push_back(operandPlacement(*this, id, i));
    for (size_t i = 0; i < results.size(); ++i)
      row.results.push_back(resultPlacement(*this, id, i));
    rows.push_back(std::move(row));
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// The row on one axis
//===----------------------------------------------------------------------===//

static bool samePlacementButUnit(const Placement &a, const Placement &b) {
  return a.kind == b.kind && (!a.isShard() || a.dim == b.dim) &&
         (!a.isPartial() || a.reduce == b.reduce);
}

static bool fits(const BoundRule &rule, const RowId &row,
                 std::span<const Sharding *const> operands,
                 std::span<const Sharding *const> results, int64_t axis) {
  for (size_t i = 0; i < operands.size(); ++i)
    if (!samePlacementButUnit(operands[i]->placements[axis],
                              operandPlacement(rule, row, i)))
      return false;
  for (size_t i = 0; i < results.size(); ++i)
    if (!samePlacementButUnit(results[i]->placements[axis],
                              resultPlacement(rule, row, i)))
      return false;
  return true;
}

/// The factor that a sharded tensor tells, -1 if none of them is sharded, -2 if
/// one is sharded on a dim that never shards.
static int64_t shardedFactor(std::span<const Sharding *const> tensors,
                             const std::vector<std::vector<DimFactor>> &dims,
                             int64_t axis) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Placement &p = tensors[i]->placements[axis];
    if (!p.isShard())
      continue;
    if (p.dim < 0 || p.dim >= (int64_t)dims[i].size())
      return -2;
    int64_t factor = dims[i][p.dim].factor;
    return factor < 0 ? -2 : factor;
  }
  return -1;
}

std::optional<RowId>
rule_rows::rowOnAxis(const BoundRule &rule,
                     std::span<const Sharding *const> operands,
                     std::span<const Sharding *const> results, int64_t axis) {
  int64_t factor = shardedFactor(operands, rule.operands, axis);
  if (factor == -1)
    factor = shardedFactor(results, rule.results, axis);
  if (factor == -2)
    return std::nullopt;
  auto fitting = [&](const RowId &row) {
    return fits(rule, row, operands, results, axis);
  };
  if (factor >= 0) {
    if (!canShard(rule, factor))
      return std::nullopt;
    for (bool select : {false, true})
      if (RowId row{factor, select, -1};
          (!select || !rule.factors[factor].selectOperands.empty()) &&
          fitting(row))
        return row;
    return std::nullopt;
  }
  if (fitting(RowId{}))
    return RowId{};
  for (int64_t p = 0; p < (int64_t)rule.partials.size(); ++p)
    if (RowId row{-1, false, p}; fitting(row))
      return row;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

/// Coordinates over the axes of a mask, odometer style.
static bool nextCoordinates(const DeviceMesh &mesh, uint64_t axes,
                            Shape &coords) {
  for (size_t a = coords.size(); a-- > 0;) {
    if (!(axes >> a & 1))
      continue;
    if (++coords[a] < mesh.axisSize(a))
      return true;
    coords[a] = 0;
  }
  return false;
}

static Interval cutInterval(const DeviceMesh &mesh, int64_t n, uint64_t axes,
                            int64_t unit, const Shape &coords) {
  Interval interval{0, n};
  for (size_t a = 0; a < coords.size(); ++a)
    if (axes >> a & 1)
      interval = shardOf(interval, mesh.axisSize(a), coords[a], unit);
  return interval;
}

bool rule_rows::holdsCut(const BoundRule &rule, const DeviceMesh &mesh,
                         const FactorCut &cut, int64_t granule,
                         uint64_t dimAxes, int64_t dimUnit) {
  int64_t size = rule.factors[cut.factor].size;
  Shape coords(mesh.ndim(), 0);
  do {
    Interval needed =
        cutInterval(mesh, size, cut.axes, cut.unit ? cut.unit : 1, coords);
    Interval held = cutInterval(mesh, size, dimAxes, dimUnit * granule, coords);
    if (needed.size &&
        (needed.offset < held.offset || needed.end() > held.end()))
      return false;
  } while (nextCoordinates(mesh, cut.axes, coords));
  return true;
}

//===----------------------------------------------------------------------===//
// matches
//===----------------------------------------------------------------------===//

namespace {
/// A tensor dim that shards by a factor.
struct ShardedDim {
  uint64_t axes = 0;
  int64_t parts = 1, unit = 1;
};
} // namespace

static ShardedDim shardedDim(const Sharding &sharding, int64_t dim) {
  ShardedDim out;
  for (size_t a = 0; a < sharding.placements.size(); ++a) {
    const Placement &p = sharding.placements[a];
    if (!p.isShard(dim))
      continue;
    out.axes |= uint64_t(1) << a;
    out.parts *= sharding.mesh->axisSize(a);
    out.unit = p.unit;
  }
  return out;
}

std::vector<FactorCut> rule_rows::cutsOfRows(std::span<const RowId> rows,
                                             const DeviceMesh &mesh) {
  std::vector<FactorCut> cuts;
  for (size_t axis = 0; axis < rows.size(); ++axis) {
    if (rows[axis].factor < 0)
      continue;
    auto it = std::find_if(cuts.begin(), cuts.end(), [&](const FactorCut &c) {
      return c.factor == rows[axis].factor;
    });
    if (it == cuts.end())
      it = cuts.insert(cuts.end(), {rows[axis].factor, 0, 1});
    it->axes |= uint64_t(1) << axis;
    it->parts *= mesh.axisSize(axis);
  }
  return cuts;
}

/// Reads (`exact`) or checks against one cut the dim of one tensor. Tensors
/// that follow all axes of the cut tell its unit; the others, select operands
/// that follow only some, must hold what it needs.
static bool readCut(const BoundRule &rule, const Sharding &sharding,
                    const std::vector<DimFactor> &dims, const Shape &shape,
                    FactorCut &cut, bool exact, bool &known) {
  int64_t d = dimOf(dims, cut.factor);
  if (d < 0)
    return true;
  ShardedDim sharded = shardedDim(sharding, d);
  if (sharded.axes != cut.axes)
    return exact || sharded.axes == 0 ||
           holdsCut(rule, *sharding.mesh, cut, dims[d].granule, sharded.axes,
                    sharded.unit);
  if (!exact)
    return true;
  int64_t unit =
      fineUnit(shape[d], dims[d].granule, sharded.unit, sharded.parts);
  if (!known)
    cut.unit = unit;
  known = true;
  return cut.unit == unit;
}

bool rule_rows::readCuts(const BoundRule &rule,
                         std::span<const Sharding *const> operands,
                         std::span<const Sharding *const> results,
                         std::vector<FactorCut> &cuts) {
  for (FactorCut &cut : cuts) {
    bool known = false;
    for (bool exact : {true, false}) {
      for (size_t i = 0; i < operands.size(); ++i)
        if (!readCut(rule, *operands[i], rule.operands[i],
                     rule.operandShapes[i], cut, exact, known))
          return false;
      for (size_t i = 0; i < results.size(); ++i)
        if (!readCut(rule, *results[i], rule.results[i], rule.resultShapes[i],
                     cut, exact, known))
          return false;
    }
  }
  return true;
}

bool dtorch::matches(const BoundRule &rule, std::span<const Sharding> operands,
                     std::span<const Sharding> results) {
  if (operands.size() != rule.operands.size() ||
      results.size() != rule.results.size())
    return false;
  std::vector<const Sharding *> ins, outs;
  for (const Sharding &s : operands)
    ins.push_back(&s);
  for (const Sharding &s : results)
    outs.push_back(&s);
  const MeshRef &mesh = operands.empty() ? results[0].mesh : operands[0].mesh;
  for (const auto *list : {&ins, &outs})
    for (const Sharding *s : *list)
      if (!sameMesh(s->mesh, mesh))
        return false;
  std::vector<RowId> rows;
  for (int64_t axis = 0; axis < mesh->ndim(); ++axis) {
    std::optional<RowId> row = rowOnAxis(rule, ins, outs, axis);
    if (!row)
      return false;
    rows.push_back(*row);
  }
  // Rows fit axis by axis; the boundaries must agree over all axes together.
  std::vector<FactorCut> cuts = cutsOfRows(rows, *mesh);
  return readCuts(rule, ins, outs, cuts);
}
