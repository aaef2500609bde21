//===- PlanSweepTest.cpp - every plan on small meshes ---------------------===//

#include "Helpers.h"
#include "PlanSimulation.h"
#include "Sharding/PlanSearch.h"

#include <algorithm>

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
          cost[i][j] =
              std::min(cost[i][j],
                       {cost[i][k].bytes + cost[k][j].bytes,
                        cost[i][k].collectives + cost[k][j].collectives});
  }

  std::vector<std::vector<PathCost>> cost;

private:
  PathCost edge(size_t i, size_t j) const {
    std::vector<int64_t> changed, all;
    for (int64_t a = 0; a < nodes[i].mesh->ndim(); ++a) {
      if (nodes[i].placements[a] != nodes[j].placements[a])
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

class PlanSweep : public testing::TestWithParam<Shape> {};

TEST_P(PlanSweep, EveryPlanIsExactAndCheapest) {
  MeshRef mesh = meshOf(GetParam());
  std::vector<Sharding> nodes = allShardings(mesh, options);
  for (int64_t rows = 1; rows <= 9; ++rows)
    for (int64_t columns = 1; columns <= 9; ++columns) {
      Shape shape = {rows, columns};
      ShortestPaths paths(nodes, shape);
      for (size_t i = 0; i < nodes.size(); ++i)
        for (size_t j = 0; j < nodes.size(); ++j) {
          RedistributePlan plan =
              plan_steps::searchPlan(nodes[i], nodes[j], shape);
          std::string what = mesh->str() + toString(shape) + " " +
                             nodes[i].placementsStr() + " -> " +
                             nodes[j].placementsStr();
          PlanSimulation simulation(nodes[i], shape);
          for (const RedistributeStep &step : plan.steps)
            ASSERT_EQ(simulation.run(step), "")
                << what << ", " << toString(step.kind) << " "
                << step.from.placementsStr() << " -> "
                << step.to.placementsStr();
          ASSERT_EQ(simulation.finish(nodes[j]), "") << what;
          ASSERT_EQ(plan.bytes, paths.cost[i][j].bytes) << what;
          ASSERT_EQ(plan.collectives, paths.cost[i][j].collectives) << what;
        }
    }
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
