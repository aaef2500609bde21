//===- RowSearch.h - the cheapest rows when none fits -----------*- C++ -*-===//
#pragma once

#include "RuleRows.h"

namespace dtorch::rule_rows {

/// Rows and cuts, the operand shardings they need, and a bound of the cost.
struct Candidate {
  std::vector<RowId> ids;
  std::vector<FactorCut> cuts;
  std::vector<Sharding> operands, results;
  Cost cost; ///< bytes and collectives are lower bounds at first
  size_t visit = 0;
};

/// Position of a combination of one row per axis among all of them.
int64_t combinedIndex(const BoundRule &rule, std::span<const RowId> ids);

/// Result shardings of the rows; false where a result cannot be cut so.
bool resultShardings(const BoundRule &rule, const MeshRef &mesh,
                     std::span<const RowId> ids,
                     const std::vector<FactorCut> &cuts,
                     std::vector<Sharding> &results);

/// The cheapest candidate for operands (normal forms on one mesh); nullopt if
/// `freeOnly` leaves none.
std::optional<Candidate> searchRows(const BoundRule &rule,
                                    std::span<const Sharding *const> operands,
                                    std::span<const int64_t> itemSizes,
                                    bool freeOnly);

/// The same, kept: the layers of a model ask the same question again. The
/// candidate has the mesh that the question was first asked for.
std::optional<Candidate>
searchRowsOnce(const BoundRule &rule, std::span<const Sharding *const> operands,
               std::span<const int64_t> itemSizes, bool freeOnly);

} // namespace dtorch::rule_rows
