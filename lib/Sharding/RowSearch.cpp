//===- RowSearch.cpp - the cheapest rows when none fits -------------------===//
//
// Every combination of one row per axis is a candidate, with each way its
// factors can be cut. Candidates are visited by a lower bound of their cost,
// until no better one can follow.
//
//===----------------------------------------------------------------------===//

#include "RowSearch.h"

#include "PlanSteps.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace dtorch;
using namespace dtorch::rule_rows;

int64_t rule_rows::combinedIndex(const BoundRule &rule,
                                 std::span<const RowId> ids) {
  int64_t index = 0, radix = numRows(rule);
  for (const RowId &id : ids)
    index = index * radix + rowIndex(rule, id);
  return index;
}

static const FactorCut *findCut(const std::vector<FactorCut> &cuts,
                                int64_t factor) {
  for (const FactorCut &cut : cuts)
    if (cut.factor == factor)
      return &cut;
  return nullptr;
}

bool rule_rows::resultShardings(const BoundRule &rule, const MeshRef &mesh,
                                std::span<const RowId> ids,
                                const std::vector<FactorCut> &cuts,
                                std::vector<Sharding> &results) {
  results.reserve(rule.results.size());
  for (size_t i = 0; i < rule.results.size(); ++i) {
    Sharding &s = results.emplace_back();
    s.mesh = mesh;
    s.placements.reserve(ids.size());
    for (const RowId &id : ids) {
      Placement p = resultPlacement(rule, id, i);
      if (p.isShard()) {
        p.unit = unitFor(*findCut(cuts, id.factor), rule.resultShapes[i][p.dim],
                         rule.results[i][p.dim].granule);
        if (!p.unit)
          return false;
      }
      s.placements.push_back(p);
    }
  }
  return true;
}

namespace {

/// Above so many combinations, axes that match exactly keep their row.
constexpr int64_t maxCombinations = 4096;

class RowSearch {
public:
  RowSearch(const BoundRule &rule, std::span<const Sharding *const> operands,
            std::span<const int64_t> itemSizes, bool freeOnly)
      : rule(rule), operands(operands), itemSizes(itemSizes),
        freeOnly(freeOnly), mesh(operands[0]->mesh), bounds(operands.size()) {}

  std::optional<Candidate> run() {
    collectRows();
    std::vector<RowId> ids(rowsPerAxis.size());
    visitRows(ids, 0);
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate &a, const Candidate &b) {
                return std::tie(a.cost, a.visit) < std::tie(b.cost, b.visit);
              });
    std::optional<Candidate> best;
    for (Candidate &candidate : candidates) {
      if (best && candidate.cost >= best->cost)
        break;
      if (!setCost(candidate))
        continue;
      if (!best || candidate.cost < best->cost)
        best = candidate;
    }
    return best;
  }

private:
  //===--------------------------------------------------------------------===//
  // Rows
  //===--------------------------------------------------------------------===//

  void collectRows() {
    std::vector<RowId> all = rowIds(rule);
    rowsPerAxis.assign(mesh->ndim(), all);
    for (int64_t axis = 0; axis < mesh->ndim(); ++axis)
      if (mesh->axisSize(axis) == 1)
        rowsPerAxis[axis] = {RowId{}};
    if (combinations() <= maxCombinations)
      return;
    for (int64_t axis = 0; axis < mesh->ndim(); ++axis)
      if (auto exact = rowOnAxis(rule, operands, {}, axis))
        rowsPerAxis[axis] = {*exact};
    if (combinations() <= maxCombinations)
      return;
    for (int64_t axis = 0; axis < mesh->ndim(); ++axis)
      if (rowsPerAxis[axis].size() > 1)
        std::erase_if(rowsPerAxis[axis],
                      [&](const RowId &id) { return !isRelevant(id, axis); });
  }

  int64_t combinations() const {
    int64_t count = 1;
    for (const auto &rows : rowsPerAxis) {
      count *= rows.size();
      if (count > maxCombinations)
        break;
    }
    return count;
  }

  /// All R, or a row in which some operand is already as it must be.
  bool isRelevant(const RowId &id, int64_t axis) const {
    if (id == RowId{})
      return true;
    for (size_t i = 0; i < operands.size(); ++i) {
      Placement p = operandPlacement(rule, id, i);
      const Placement &held = operands[i]->placements[axis];
      if (!p.isReplicate() && p.kind == held.kind && p.dim == held.dim &&
          p.reduce == held.reduce)
        return true;
    }
    return false;
  }

  void visitRows(std::vector<RowId> &ids, size_t axis) {
    if (axis == ids.size()) {
      std::vector<FactorCut> cuts = cutsOfRows(ids, *mesh);
      visitCuts(ids, cuts, 0);
      return;
    }
    for (const RowId &id : rowsPerAxis[axis]) {
      ids[axis] = id;
      visitRows(ids, axis + 1);
    }
  }

  //===--------------------------------------------------------------------===//
  // Cuts
  //===--------------------------------------------------------------------===//

  /// Fine units worth trying: those that operands have now, and each tensor's
  /// own granule (what no unit means there).
  std::vector<int64_t> unitsOf(const FactorCut &cut) const {
    std::vector<int64_t> units;
    auto add = [&](int64_t n, int64_t granule, int64_t unit) {
      int64_t fine = fineUnit(n, granule, unit, cut.parts);
      if (std::find(units.begin(), units.end(), fine) == units.end())
        units.push_back(fine);
    };
    for (size_t i = 0; i < operands.size(); ++i)
      if (int64_t d = dimOf(rule.operands[i], cut.factor); d >= 0)
        for (const Placement &p : operands[i]->placements)
          if (p.isShard(d))
            add(rule.operandShapes[i][d], rule.operands[i][d].granule, p.unit);
    for (size_t i = 0; i < operands.size(); ++i)
      if (int64_t d = dimOf(rule.operands[i], cut.factor); d >= 0)
        add(rule.operandShapes[i][d], rule.operands[i][d].granule, 1);
    for (size_t i = 0; i < rule.results.size(); ++i)
      if (int64_t d = dimOf(rule.results[i], cut.factor); d >= 0)
        add(rule.resultShapes[i][d], rule.results[i][d].granule, 1);
    return units;
  }

  void visitCuts(const std::vector<RowId> &ids, std::vector<FactorCut> &cuts,
                 size_t i) {
    if (i == cuts.size()) {
      addCandidate(ids, cuts);
      return;
    }
    for (int64_t unit : unitsOf(cuts[i])) {
      cuts[i].unit = unit;
      visitCuts(ids, cuts, i + 1);
    }
  }

  void addCandidate(const std::vector<RowId> &ids,
                    const std::vector<FactorCut> &cuts) {
    Candidate candidate{ids, cuts, {}, {}, {}, candidates.size()};
    for (size_t i = 0; i < operands.size(); ++i)
      if (!addOperand(candidate, i))
        return;
    if (!resultShardings(rule, mesh, ids, cuts, candidate.results))
      return;
    candidate.cost.row = combinedIndex(rule, ids);
    candidates.push_back(std::move(candidate));
  }

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  /// Appends what operand i must be; false if it cannot be so.
  bool addOperand(Candidate &candidate, size_t i) {
    Sharding target{mesh, {}};
    for (const RowId &id : candidate.ids)
      target.placements.push_back(operandPlacement(rule, id, i));
    for (const FactorCut &cut : candidate.cuts)
      if (!setUnit(target, i, cut))
        return false;
    const Sharding &held = *operands[i];
    if (target.placements == held.placements) {
      candidate.operands.push_back(held);
      return true;
    }
    std::optional<Cost> bound = boundOf(i, target);
    if (!bound)
      return false;
    candidate.cost.bytes += bound->bytes;
    candidate.cost.collectives += bound->collectives;
    candidate.cost.changed += 1;
    candidate.operands.push_back(std::move(target));
    return true;
  }

  /// Gives the shards of the cut's dim in operand i their unit.
  bool setUnit(Sharding &target, size_t i, const FactorCut &cut) const {
    int64_t d = dimOf(rule.operands[i], cut.factor);
    if (d < 0)
      return true;
    uint64_t axes = 0;
    int64_t parts = 1, n = rule.operandShapes[i][d];
    for (size_t a = 0; a < target.placements.size(); ++a)
      if (target.placements[a].isShard(d)) {
        axes |= uint64_t(1) << a;
        parts *= mesh->axisSize(a);
      }
    if (!axes)
      return true;
    int64_t granule = rule.operands[i][d].granule;
    int64_t unit = axes == cut.axes ? unitFor(cut, n, granule)
                                    : selectUnit(cut, i, d, axes, parts);
    if (!unit)
      return false;
    for (Placement &p : target.placements)
      if (p.isShard(d))
        p.unit = unit;
    return true;
  }

  /// The unit of a select operand that follows only some axes of a cut: the
  /// one it has, or none, as long as it then holds what the cut needs.
  int64_t selectUnit(const FactorCut &cut, size_t i, int64_t d, uint64_t axes,
                     int64_t parts) const {
    int64_t n = rule.operandShapes[i][d], granule = rule.operands[i][d].granule;
    std::vector<int64_t> units;
    for (const Placement &p : operands[i]->placements)
      if (p.isShard(d))
        units.push_back(p.unit);
    units.push_back(1);
    for (int64_t unit : units) {
      if (fineUnit(n, granule, unit, parts) == 0)
        unit = 1;
      if (holdsCut(rule, *mesh, cut, granule, axes, unit))
        return unit;
    }
    return 0;
  }

  /// At least what a plan from the operand's sharding costs; nullopt if there
  /// is no plan.
  std::optional<Cost> boundOf(size_t i, const Sharding &target) {
    auto [it, made] = bounds[i].try_emplace(target.placements);
    if (!made)
      return it->second;
    const Sharding &held = *operands[i];
    if (plan_steps::checkChange(held, target))
      return it->second = std::nullopt;
    Cost bound;
    bound.bytes = itemSizes[i] * plan_steps::missingElements(
                                     held, target, rule.operandShapes[i]);
    bound.collectives = bound.bytes > 0;
    for (size_t a = 0; a < target.placements.size(); ++a)
      if (held.placements[a].isPartial() && !target.placements[a].isPartial())
        bound.collectives = 1;
    if (freeOnly && bound.collectives)
      return it->second = std::nullopt;
    return it->second = bound;
  }

  /// Replaces the bounds by the costs of plans; false if that is not free but
  /// must be.
  bool setCost(Candidate &candidate) const {
    candidate.cost.bytes = candidate.cost.collectives = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (candidate.operands[i].placements == operands[i]->placements)
        continue;
      const RedistributePlan &plan =
          planRedistribute(*operands[i], candidate.operands[i],
                           rule.operandShapes[i], itemSizes[i]);
      candidate.cost.bytes += plan.bytes;
      candidate.cost.collectives += plan.collectives;
    }
    return !freeOnly || candidate.cost.collectives == 0;
  }

  const BoundRule &rule;
  std::span<const Sharding *const> operands;
  std::span<const int64_t> itemSizes;
  bool freeOnly;
  MeshRef mesh;
  std::vector<std::vector<RowId>> rowsPerAxis;
  std::vector<Candidate> candidates;
  std::vector<std::map<std::vector<Placement>, std::optional<Cost>>> bounds;
};

} // namespace

std::optional<Candidate>
rule_rows::searchRows(const BoundRule &rule,
                      std::span<const Sharding *const> operands,
                      std::span<const int64_t> itemSizes, bool freeOnly) {
  return RowSearch(rule, operands, itemSizes, freeOnly).run();
}
