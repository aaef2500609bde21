//===- PlanSweepTest.cpp - every plan on small meshes ---------------------===//

#include "Helpers.h"
#include "PlanSimulation.h"
#include "Sharding/PlanSearch.h"

#include <algorithm>
#include <array>

using namespace dtorch;

namespace {

const std::vector<Placement> options = {
    Placement::replicate(), Placement::shard(0), Placement::shard(1),
    Placement::partial()};

/// Bytes, then collectives: what plans are compared by.
struct PathCost {
  int64_t bytes = 0, collectives = 0;
  auto operator<=>(const PathCost &) const = default;
};

const PathCost infinite = {int64_t(1) << 40, 0};

/// Costs of the cheapest ways between all pairs of placements, by relaxation
/// over every valid single step: no heuristic, no restriction, and costs from
/// what each device receives.
class ShortestPaths {
public:
  ShortestPaths(std::vector<Sharding> nodes, Shape shape)
      : nodes(std::move(nodes)), shape(std::move(shape)) {
    size_t n = this->nodes.size();
    cost.assign(n, std::vector<PathCost>(n, infinite));
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        cost[i][j] = i == j ? PathCost{} : edge(i, j);
    for (size_t k = 0; k < n; ++k)
      for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
          cost[i][j] = std::min(
              cost[i][j], {cost[i][k].bytes + cost[k][j].bytes,
                           cost[i][k].collectives + cost[k][j].collectives});
  }

  std::vector<std::vector<PathCost>> cost;

private:
  PathCost edge(size_t i, size_t j) const {
    std::vector<int64_t> changed, all;
    for (int64_t a = 0; a < nodes[i].mesh->ndim(); ++a) {
      Placement p = nodes[i].placements[a], q = nodes[j].placements[a];
      p.unit = q.unit; // a unit alone changes by exchange
      if (p != q)
        changed.push_back(a);
      if (!nodes[i].placements[a].isPartial() &&
          !nodes[j].placements[a].isPartial())
        all.push_back(a); // what an exchange receives needs no small group
    }
    PathCost best = infinite;
    for (int kind = 0; kind <= static_cast<int>(StepKind::Exchange); ++kind) {
      RedistributeStep step{static_cast<StepKind>(kind), changed, nodes[i],
                            nodes[j]};
      if (step.kind == StepKind::Exchange)
        step.axes = all;
      if (stepProblem(step, shape).empty())
        best = std::min(best, stepCost(step));
    }
    return best;
  }

  PathCost stepCost(const RedistributeStep &step) const {
    int64_t bytes = 0;
    for (int64_t d = 0; d < step.from.mesh->numDevices(); ++d)
      bytes = std::max(bytes, bytesReceived(step, shape, 1, d));
    return {bytes, !isLocal(step.kind)};
  }

  std::vector<Sharding> nodes;
  Shape shape;
};

bool hasUnit(const Sharding &s, int64_t unit) {
  return std::any_of(s.placements.begin(), s.placements.end(),
                     [&](const Placement &p) { return p.unit == unit; });
}

/// Checks the plan of every pair of shardings that between them use all
/// `units`: plans use no other units than their ends do.
void checkPairs(const std::vector<Sharding> &nodes, const Shape &shape,
                const std::vector<int64_t> &units = {}) {
  ShortestPaths paths(nodes, shape);
  for (size_t i = 0; i < nodes.size(); ++i)
    for (size_t j = 0; j < nodes.size(); ++j) {
      if (!std::all_of(units.begin(), units.end(), [&](int64_t unit) {
            return hasUnit(nodes[i], unit) || hasUnit(nodes[j], unit);
          }))
        continue;
      RedistributePlan plan = plan_steps::searchPlan(nodes[i], nodes[j], shape);
      std::string what = nodes[i].mesh->str() + toString(shape) + " " +
                         nodes[i].placementsStr() + " -> " +
                         nodes[j].placementsStr();
      PlanSimulation simulation(nodes[i], shape);
      for (const RedistributeStep &step : plan.steps)
        ASSERT_EQ(simulation.run(step), "")
            << what << ", " << toString(step.kind) << " "
            << step.from.placementsStr() << " -> " << step.to.placementsStr();
      ASSERT_EQ(simulation.finish(nodes[j]), "") << what;
      ASSERT_EQ(plan.bytes, paths.cost[i][j].bytes) << what;
      ASSERT_EQ(plan.collectives, paths.cost[i][j].collectives) << what;
    }
}

class PlanSweep : public testing::TestWithParam<Shape> {};

TEST_P(PlanSweep, EveryPlanIsExactAndCheapest) {
  std::vector<Sharding> nodes = allShardings(meshOf(GetParam()), options);
  for (int64_t rows = 1; rows <= 9; ++rows)
    for (int64_t columns = 1; columns <= 9; ++columns)
      ASSERT_NO_FATAL_FAILURE(checkPairs(nodes, {rows, columns}));
}

/// Normal forms of all shardings that are legal for the shape, each once.
std::vector<Sharding> legalShardings(const MeshRef &mesh, const Shape &shape,
                                     const std::vector<Placement> &options) {
  std::vector<Sharding> legal;
  for (const Sharding &s : allShardings(mesh, options)) {
    try {
      s.verify(shape);
    } catch (const Error &) {
      continue; // two units on one dim
    }
    Sharding normal = normalised(s, shape);
    if (std::find(legal.begin(), legal.end(), normal) == legal.end())
      legal.push_back(normal);
  }
  return legal;
}

TEST_P(PlanSweep, UnitsToo) {
  MeshRef mesh = meshOf(GetParam());
  for (auto [rows, u, v] : {std::array<int64_t, 3>{6, 2, 3},
                            {12, 4, 6},
                            {10, 2, 5},
                            {18, 2, 6},
                            {4, 4, 2},
                            {15, 3, 5}})
    for (int64_t columns : {1, 2, 5})
      for (const auto &units :
           std::vector<std::vector<int64_t>>{{u}, {v}, {u, v}}) {
        if (mesh->ndim() > 2 && (rows != 6 || columns != 2))
          continue; // many placements: one shape will do
        Shape shape = {rows, columns};
        auto withUnits = options;
        for (int64_t unit : units)
          withUnits.push_back(Placement::shard(0, unit));
        ASSERT_NO_FATAL_FAILURE(
            checkPairs(legalShardings(mesh, shape, withUnits), shape, units));
      }
}

TEST_P(PlanSweep, EmptyTensors) {
  MeshRef mesh = meshOf(GetParam());
  for (const Shape &shape : {Shape{0, 3}, Shape{2, 0}, Shape{0, 0}})
    ASSERT_NO_FATAL_FAILURE(
        checkPairs(legalShardings(mesh, shape, options), shape));
}

INSTANTIATE_TEST_SUITE_P(Meshes, PlanSweep,
                         testing::Values(Shape{2}, Shape{3}, Shape{4},
                                         Shape{2, 2}, Shape{2, 3},
                                         Shape{2, 2, 2}),
                         [](const auto &info) {
                           std::string name = "m";
                           for (int64_t n : info.param)
                             name += "_" + std::to_string(n);
                           return name;
                         });

} // namespace
