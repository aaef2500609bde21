//===- RowChoice.cpp - the rows for an op ---------------------------------===//
//
// An exact match on every axis is the common case and computes no plan.
//
//===----------------------------------------------------------------------===//

#include "RowSearch.h"
#include "dtorch/Support/Error.h"

using namespace dtorch;
using namespace dtorch::rule_rows;

namespace {

std::vector<Row> rowsOf(const BoundRule &rule, std::span<const RowId> ids) {
  std::vector<Row> rows(ids.size());
  for (size_t axis = 0; axis < ids.size(); ++axis) {
    rows[axis].factor = ids[axis].factor;
    rows[axis].operands.reserve(rule.operands.size());
    for (size_t i = 0; i < rule.operands.size(); ++i)
      rows[axis].operands.push_back(operandPlacement(rule, ids[axis], i));
    for (size_t i = 0; i < rule.results.size(); ++i)
      rows[axis].results.push_back(resultPlacement(rule, ids[axis], i));
  }
  return rows;
}

/// The choice that leaves all operands alone, if their rows fit.
std::optional<RowChoice> exactChoice(const BoundRule &rule,
                                     std::span<const Sharding *const> operands,
                                     std::span<const Sharding> given) {
  const MeshRef &mesh = operands[0]->mesh;
  std::vector<RowId> ids;
  ids.reserve(mesh->ndim());
  for (int64_t axis = 0; axis < mesh->ndim(); ++axis) {
    std::optional<RowId> id = rowOnAxis(rule, operands, {}, axis);
    if (!id)
      return std::nullopt;
    ids.push_back(*id);
  }
  std::vector<FactorCut> cuts = cutsOfRows(ids, *mesh);
  RowChoice choice;
  if (!readCuts(rule, operands, {}, cuts) ||
      !resultShardings(rule, mesh, ids, cuts, choice.results))
    return std::nullopt;
  choice.operands.assign(given.begin(), given.end());
  choice.rows = rowsOf(rule, ids);
  choice.cost.row = combinedIndex(rule, ids);
  return choice;
}

bool isNormal(const Sharding &s, std::span<const int64_t> shape) {
  for (size_t a = 0; a < s.placements.size(); ++a) {
    const Placement &p = s.placements[a];
    if (p.isReplicate())
      continue;
    if (s.mesh->axisSize(a) == 1 ||
        (p.isShard() && (p.unit != 1 || shape[p.dim] == 0)))
      return false; // perhaps not: the caller normalises
  }
  return true;
}

} // namespace

std::optional<RowChoice> dtorch::chooseRows(const BoundRule &rule,
                                            std::span<const Sharding> operands,
                                            std::span<const int64_t> itemSizes,
                                            bool freeOnly) {
  std::vector<const Sharding *> held;
  held.reserve(operands.size());
  std::vector<Sharding> normal;
  normal.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!sameMesh(operands[i].mesh, operands[0].mesh))
      throw Error("operands must be on one mesh, got " +
                      operands[0].mesh->str() + " and " +
                      operands[i].mesh->str(),
                  ErrorKind::Placement);
    if (isNormal(operands[i], rule.operandShapes[i]))
      held.push_back(&operands[i]);
    else
      held.push_back(
          &normal.emplace_back(normalised(operands[i], rule.operandShapes[i])));
  }
  if (auto exact = exactChoice(rule, held, operands))
    return exact;
  std::optional<Candidate> best =
      searchRowsOnce(rule, held, itemSizes, freeOnly);
  if (!best)
    return std::nullopt;
  for (auto *list : {&best->operands, &best->results})
    for (Sharding &s : *list)
      s.mesh = operands[0].mesh;
  RowChoice choice;
  for (size_t i = 0; i < operands.size(); ++i)
    choice.operands.push_back(best->operands[i].placements ==
                                      held[i]->placements
                                  ? operands[i]
                                  : std::move(best->operands[i]));
  choice.results = std::move(best->results);
  choice.rows = rowsOf(rule, best->ids);
  choice.cost = best->cost;
  return choice;
}
