//===- RedistributePlanTest.cpp - plans one can read ----------------------===//

#include "Helpers.h"

#include <thread>

using namespace dtorch;

/// "all_gather{1} slice{0}", with bytes and collectives in front.
static std::string plan(const MeshRef &mesh, const char *from, const char *to,
                        Shape shape, int64_t itemSize = 1) {
  const RedistributePlan &plan =
      planRedistribute(on(mesh, from), on(mesh, to), shape, itemSize);
  std::string out =
      std::to_string(plan.bytes) + "/" + std::to_string(plan.collectives);
  for (const RedistributeStep &step : plan.steps) {
    out += " " + std::string(toString(step.kind)) + "{";
    for (int64_t a : step.axes)
      out += std::to_string(a);
    out += "}";
  }
  return out;
}

TEST(RedistributePlan, NamedCollectives) {
  MeshRef m = meshOf({4});
  EXPECT_EQ(plan(m, "S(0)", "R", {8, 8}, 4), "192/1 all_gather{0}");
  EXPECT_EQ(plan(m, "P", "R", {8, 8}, 4), "384/1 all_reduce{0}");
  EXPECT_EQ(plan(m, "P(max)", "R", {8, 8}, 4), "384/1 all_reduce{0}");
  EXPECT_EQ(plan(m, "P", "S(1)", {8, 8}, 4), "192/1 reduce_scatter{0}");
  EXPECT_EQ(plan(m, "S(0)", "S(1)", {8, 8}, 4), "48/1 all_to_all{0}");
  EXPECT_EQ(plan(m, "R", "S(1)", {8, 8}, 4), "0/0 slice{0}");
  EXPECT_EQ(plan(m, "R", "P", {8, 8}, 4), "0/0 mask{0}");
  EXPECT_EQ(plan(m, "R", "R", {8, 8}, 4), "0/0");
  EXPECT_EQ(plan(m, "S(0)", "P", {8, 8}, 4), "192/1 all_gather{0} mask{0}");
}

TEST(RedistributePlan, AxesTogether) {
  MeshRef m = meshOf({2, 2});
  EXPECT_EQ(plan(m, "P P", "R R", {8, 8}), "96/1 all_reduce{01}");
  EXPECT_EQ(plan(m, "S(0) S(0)", "R R", {8, 8}), "48/1 all_gather{01}");
  EXPECT_EQ(plan(m, "P P", "S(0) S(0)", {8, 8}), "48/1 reduce_scatter{01}");
  EXPECT_EQ(plan(m, "R R", "S(0) S(1)", {8, 8}), "0/0 slice{0} slice{1}");
  EXPECT_EQ(plan(m, "R R", "S(0) S(0)", {8, 8}), "0/0 slice{01}");
  // A slice on axis 0 would cut inside what axis 1 has cut already.
  EXPECT_EQ(plan(m, "R S(0)", "S(0) S(0)", {8, 8}), "16/1 exchange{01}");
  EXPECT_EQ(plan(m, "R S(0)", "S(1) S(0)", {8, 8}), "0/0 slice{0}");
  // Ties prefer a named collective.
  EXPECT_EQ(plan(m, "R S(0)", "S(0) R", {8, 8}), "32/1 all_gather{1} slice{0}");
}

TEST(RedistributePlan, UnevenAndUnits) {
  MeshRef m = meshOf({2});
  EXPECT_EQ(plan(m, "S(0)", "R", {5}), "3/1 all_gather{0}");
  EXPECT_EQ(plan(m, "S(0)", "S(1)", {1, 4}), "2/1 all_to_all{0}");
  EXPECT_EQ(plan(m, "S(0)", "S(0:64)", {576}), "32/1 exchange{0}");
  EXPECT_EQ(plan(m, "P", "S(0:64)", {576}), "320/1 reduce_scatter{0}");
  EXPECT_EQ(plan(m, "S(0:64)", "S(0)", {512}), "0/0"); // 8 blocks: even
  EXPECT_EQ(plan(m, "S(0)", "R", {0, 3}), "0/0");
  EXPECT_EQ(plan(meshOf({1, 2}), "S(0) R", "P R", {4}), "0/0");
}

TEST(RedistributePlan, ColumnThenRowParallelLayer) {
  // What a decoder layer asks for on (dp, tp).
  MeshRef m = meshOf({2, 4});
  EXPECT_EQ(plan(m, "S(0) P", "S(0) R", {2, 16, 32}, 4),
            "3072/1 all_reduce{1}");
  EXPECT_EQ(plan(m, "S(0) P", "S(0) R", {1, 7, 24}, 4),
            "1008/1 all_reduce{1}"); // one sample: dp device 1 has none
  EXPECT_EQ(plan(m, "S(0) S(2)", "S(0) R", {2, 16, 32}, 4),
            "1536/1 all_gather{1}");
}

TEST(RedistributePlan, FiveAxes) {
  MeshRef m = meshOf({2, 2, 1, 2, 2});
  EXPECT_EQ(plan(m, "S(0) P R S(1) S(1)", "S(0) R R S(1) S(1)", {4, 8, 16}),
            "64/1 all_reduce{1}");
  EXPECT_EQ(plan(m, "S(0) S(2) R S(1) S(1)", "R R R R R", {4, 8, 16}),
            "480/1 exchange{0134}");
}

TEST(RedistributePlan, Errors) {
  MeshRef m = meshOf({2});
  EXPECT_EQ(errorOf([&] { plan(m, "R", "P(max)", {4}); }),
            "redistribute: only pending sums can be made, got [R] -> [P(max)]");
  EXPECT_EQ(errorOf([&] { plan(m, "P", "P(max)", {4}); }),
            "redistribute: one reduction does not become another, got [P] -> "
            "[P(max)]");
  EXPECT_EQ(plan(m, "P(max)", "P(max)", {4}), "0/0");
  EXPECT_THROW(planRedistribute(on(m, "R"), on(meshOf({3}), "R"), Shape{4}, 1),
               Error);
}

TEST(RedistributePlan, PlansAreKept) {
  Sharding from = on(meshOf({2}), "S(0)"), to = on(meshOf({2}), "R");
  const RedistributePlan *first = &planRedistribute(from, to, Shape{33, 2}, 4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int64_t n = 1; n < 40; ++n)
        planRedistribute(on(meshOf({2}), "S(0)"), on(meshOf({2}), "R"),
                         Shape{n, t % 2 + 1}, 4);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(first, &planRedistribute(from, to, Shape{33, 2}, 4));
  EXPECT_EQ(first->bytes, 17 * 2 * 4);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static std::string problem(StepKind kind, std::vector<int64_t> axes,
                           const char *from, const char *to,
                           Shape shape = {8, 8}) {
  MeshRef m = meshOf({2, 2});
  return stepProblem({kind, axes, on(m, from), on(m, to)}, shape);
}

TEST(RedistributeStep, Problems) {
  EXPECT_EQ(problem(StepKind::AllGather, {1}, "S(0) S(0)", "S(0) R"), "");
  EXPECT_EQ(problem(StepKind::AllGather, {0}, "S(0) S(0)", "R S(0)"),
            "the axes are not the innermost that shard the dim, got [S(0), "
            "S(0)] -> [R, S(0)]");
  EXPECT_EQ(problem(StepKind::Slice, {0}, "R S(0)", "S(0) S(0)"),
            "a later axis shards the dim, got [R, S(0)] -> [S(0), S(0)]");
  EXPECT_EQ(problem(StepKind::Slice, {0}, "R S(1)", "S(0) S(1)"), "");
  EXPECT_EQ(problem(StepKind::AllReduce, {0}, "P P", "R R"),
            "placements differ on an axis outside the step, got [P, P] -> [R, "
            "R]");
  EXPECT_EQ(problem(StepKind::AllReduce, {0, 1}, "P P(max)", "R R"),
            "placements on the axes of the step must be alike, got [P, P(max)] "
            "-> [R, R]");
  EXPECT_EQ(problem(StepKind::AllReduce, {1, 0}, "P P", "R R"),
            "axes must be axes of the mesh, in mesh order, got [P, P] -> [R, "
            "R]");
  EXPECT_EQ(problem(StepKind::AllToAll, {0, 1}, "S(0) S(0)", "S(1) S(1)"),
            "all_to_all is over one axis, got [S(0), S(0)] -> [S(1), S(1)]");
  EXPECT_EQ(problem(StepKind::Mask, {0}, "R R", "P(max) R"),
            "mask turns R into P, got [R, R] -> [P(max), R]");
  EXPECT_EQ(problem(StepKind::Exchange, {0}, "S(0) S(0)", "R S(0)"),
            "boxes must move over an axis outside the step, got [S(0), S(0)] "
            "-> [R, S(0)]");
  EXPECT_EQ(problem(StepKind::Exchange, {0, 1}, "S(0) S(0)", "R S(0)"), "");
  EXPECT_EQ(problem(StepKind::AllGather, {}, "R R", "R R"),
            "a step needs at least one axis, got [R, R] -> [R, R]");
  // 3 blocks of 2 over two axes, then over one: 4 and 2, not 3 and 3.
  EXPECT_EQ(
      problem(StepKind::AllGather, {1}, "S(0:2) S(0:2)", "S(0:2) R", {6, 8}),
      "");
  EXPECT_NE(
      problem(StepKind::AllGather, {1}, "S(0:2) S(0:2)", "S(0) R", {6, 8}), "");
}
