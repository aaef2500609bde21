//===- RowChoiceTest.cpp - the cheapest rows ------------------------------===//

#include "Helpers.h"

#include <set>

using namespace dtorch;

static OpCall binary(const char *kind, Shape a, Shape b) {
  return callOf("binary", {a, b}, {{"kind", std::string(kind)}});
}

TEST(RowChoice, AddingToAPendingSumAddsOnce) {
  MeshRef m = meshOf({2});
  // s + 10: the number becomes pending for free, held by the first device.
  EXPECT_EQ(choose(binary("add", {}, {}), m, {"P", "R"}),
            "[P] [P] -> [P] (0/0)");
  EXPECT_EQ(choose(binary("add", {}, {}), m, {"R", "P"}, true),
            "[P] [P] -> [P] (0/0)");
  EXPECT_EQ(choose(binary("sub", {}, {}), m, {"P", "R"}),
            "[P] [P] -> [P] (0/0)");
  EXPECT_EQ(choose(binary("add", {}, {}), m, {"P", "P"}), "[P] [P] -> [P]");
  EXPECT_EQ(choose(binary("mul", {}, {}), m, {"P", "R"}), "[P] [R] -> [P]");
  EXPECT_EQ(choose(binary("div", {}, {}), m, {"P", "R"}), "[P] [R] -> [P]");
  EXPECT_EQ(choose(binary("div", {}, {}), m, {"R", "P"}),
            "[R] [R] -> [R] (1/1)");
  // One of two pending factors is reduced.
  EXPECT_EQ(choose(binary("mul", {}, {}), m, {"P", "P"}),
            "[P] [R] -> [P] (1/1)");
  EXPECT_EQ(choose(binary("pow", {}, {}), m, {"P", "R"}, true), "none");
}

TEST(RowChoice, NonlinearOpsReduceFirst) {
  MeshRef m = meshOf({2});
  OpCall silu = callOf("unary", {{4, 6}}, {{"kind", std::string("silu")}});
  // Scattering costs half of what a whole reduction costs.
  EXPECT_EQ(choose(silu, m, {"P"}), "[S(0)] -> [S(0)] (12/1)");
  EXPECT_EQ(choose(silu, m, {"P"}, true), "none");
  EXPECT_EQ(choose(silu, m, {"S(1)"}), "[S(1)] -> [S(1)]");
}

TEST(RowChoice, BroadcastOperandsAreSlicedLocally) {
  MeshRef m = meshOf({2, 2, 2});
  OpCall mul = binary("mul", {2, 4, 8, 2}, {1, 1, 8, 1});
  EXPECT_EQ(choose(mul, m, {"S(0) S(1) S(2)", "R R R"}, true),
            "[S(0), S(1), S(2)] [R, R, S(2)] -> [S(0), S(1), S(2)] (0/0)");
  EXPECT_EQ(choose(mul, m, {"S(0) S(1) S(2)", "R R S(2)"}),
            "[S(0), S(1), S(2)] [R, R, S(2)] -> [S(0), S(1), S(2)]");
  // The single row of a broadcast dim is gathered, never sharded.
  EXPECT_EQ(
      choose(binary("add", {1, 1}, {4, 1}), meshOf({2}), {"S(0)", "S(0)"}),
      "[R] [S(0)] -> [S(0)] (1/1)");
  // A slice inside what a later axis cuts is no slice.
  EXPECT_EQ(choose(binary("add", {4}, {4}), meshOf({2, 2}),
                   {"S(0) S(0)", "R S(0)"}, true),
            "none");
}

TEST(RowChoice, LinearLayers) {
  MeshRef m = meshOf({2, 2}); // dp, tp
  OpCall linear = callOf("linear", {{2, 7, 8}, {6, 8}});
  EXPECT_EQ(choose(linear, m, {"S(0) R", "R S(0)"}),
            "[S(0), R] [R, S(0)] -> [S(0), S(2)]");
  EXPECT_EQ(choose(linear, m, {"S(0) S(2)", "R S(1)"}),
            "[S(0), S(2)] [R, S(1)] -> [S(0), P]");
  EXPECT_EQ(choose(linear, m, {"S(1) R", "R R"}),
            "[S(1), R] [R, R] -> [S(1), R]");
  // A replicated input of a row-parallel weight is sliced.
  EXPECT_EQ(choose(linear, m, {"S(0) R", "R S(1)"}),
            "[S(0), S(2)] [R, S(1)] -> [S(0), P] (0/0)");
  EXPECT_EQ(choose(linear, m, {"S(0) P", "R R"}),
            "[S(0), P] [R, R] -> [S(0), P]");
  // Units follow: 9 heads of 64 on tp = 2.
  OpCall heads = callOf("linear", {{1, 3, 576}, {576, 576}});
  EXPECT_EQ(choose(heads, m, {"R R", "R S(0:64)"}),
            "[R, R] [R, S(0:64)] -> [R, S(2:64)]");
  EXPECT_EQ(choose(heads, m, {"R S(2:64)", "R S(1:64)"}),
            "[R, S(2:64)] [R, S(1:64)] -> [R, P]");
  // Units that differ match no row.
  EXPECT_EQ(choose(heads, meshOf({2}), {"S(2)", "S(1:64)"}, true), "none");
  EXPECT_EQ(choose(heads, meshOf({2}), {"S(2)", "S(1:64)"}),
            "[S(2:64)] [S(1:64)] -> [P] (96/1)");
}

TEST(RowChoice, SingleDeviceAxesAreReplicated) {
  MeshRef m = meshOf({1, 2});
  OpCall silu = callOf("unary", {{4, 6}}, {{"kind", std::string("silu")}});
  // What the user wrote stays; the result is in normal form.
  EXPECT_EQ(choose(silu, m, {"P S(0)"}), "[P, S(0)] -> [R, S(0)]");
  EXPECT_EQ(choose(silu, meshOf({2}), {"S(0:2)"}), "[S(0:2)] -> [S(0)]");
}

TEST(RowChoice, WholeDimsMove) {
  MeshRef m = meshOf({2});
  OpCall softmax = callOf("softmax", {{2, 8}}, {{"dim", int64_t(1)}});
  // All-to-all, not all-gather: (1, 8) each, half of it held already.
  EXPECT_EQ(choose(softmax, m, {"S(1)"}), "[S(0)] -> [S(0)] (4/1)");
}

TEST(RowChoice, EmbeddingAndReduce) {
  MeshRef m = meshOf({2, 2});
  OpCall embedding = embeddingCall({61, 8}, {3, 5});
  EXPECT_EQ(choose(embedding, m, {"R S(1)", "S(0) R"}),
            "[R, S(1)] [S(0), R] -> [S(0), S(2)]");
  EXPECT_EQ(choose(embedding, m, {"R S(0)", "S(0) R"}),
            "[R, S(0)] [S(0), R] -> [S(0), P]");
  OpCall amax = callOf(
      "reduce", {{4, 6}},
      {{"kind", std::string("amax")}, {"dims", Ints{1}}, {"keepdim", true}});
  EXPECT_EQ(choose(amax, m, {"S(0) S(1)"}), "[S(0), S(1)] -> [S(0), P(max)]");
  EXPECT_EQ(
      choose(binary("sub", {4, 6}, {4, 1}), m, {"S(0) S(1)", "S(0) P(max)"}),
      "[S(0), S(1)] [S(0), R] -> [S(0), S(1)] (2/1)");
}

TEST(RowChoice, OneDevice) {
  MeshRef one = meshOf({2})->unbind(0)[1];
  EXPECT_EQ(choose(binary("add", {2}, {2}), one, {"", ""}), "[] [] -> []");
  BoundRule rule = bindRule(binary("add", {2}, {2}));
  std::vector<Sharding> mixed = {on(meshOf({2}), "R"), on(one, "")};
  EXPECT_THROW(chooseRows(rule, mixed, Ints{1, 1}), Error);
}

TEST(RowChoice, FiveAxes) {
  MeshRef m = meshOf({2, 2, 2, 2, 2});
  OpCall add = binary("add", {4, 8, 8, 16}, {4, 8, 8, 16});
  EXPECT_EQ(choose(add, m, {"S(0) S(1) R S(2) S(2)", "R R R R R"}),
            "[S(0), S(1), R, S(2), S(2)] [S(0), S(1), R, S(2), S(2)] -> [S(0), "
            "S(1), R, S(2), S(2)] (0/0)");
}

//===----------------------------------------------------------------------===//
// Against every alternative
//===----------------------------------------------------------------------===//

/// The cheapest change to operands that match with some result, found by trying
/// every combination of placements.
static Cost cheapest(const BoundRule &rule, const std::vector<Sharding> &held,
                     const std::vector<std::vector<Sharding>> &alternatives,
                     const std::vector<Sharding> &results) {
  Cost best{int64_t(1) << 40, 0, 0, 0};
  std::vector<Sharding> operands = held;
  auto visit = [&](auto &&self, size_t i, Cost cost) -> void {
    if (std::tie(cost.bytes, cost.collectives, cost.changed) >=
        std::tie(best.bytes, best.collectives, best.changed))
      return;
    if (i == held.size()) {
      for (const Sharding &result : results)
        if (std::vector<Sharding> list = {result};
            matches(rule, operands, list)) {
          best = cost;
          return;
        }
      return;
    }
    for (const Sharding &other : alternatives[i]) {
      operands[i] = other;
      Cost next = cost;
      if (!sameLayout(held[i], other, rule.operandShapes[i])) {
        try {
          const RedistributePlan &plan =
              planRedistribute(held[i], other, rule.operandShapes[i], 1);
          next.bytes += plan.bytes;
          next.collectives += plan.collectives;
          next.changed += 1;
        } catch (const Error &) {
          continue;
        }
      }
      self(self, i + 1, next);
    }
  };
  visit(visit, 0, {});
  return best;
}

using Units = std::set<int64_t>;

/// All normal forms for a shape, with the given units on each dim.
static std::vector<Sharding> alternativesOf(const MeshRef &mesh,
                                            const Shape &shape,
                                            const std::vector<Units> &units) {
  std::vector<Placement> options = {Placement::replicate(),
                                    Placement::partial(),
                                    Placement::partial(ReduceKind::Max)};
  for (size_t d = 0; d < shape.size(); ++d)
    for (int64_t unit : units[d])
      options.push_back(Placement::shard(d, unit));
  std::vector<Sharding> legal;
  for (const Sharding &s : allShardings(mesh, options)) {
    try {
      s.verify(shape);
    } catch (const Error &) {
      continue;
    }
    Sharding normal = normalised(s, shape);
    if (std::find(legal.begin(), legal.end(), normal) == legal.end())
      legal.push_back(normal);
  }
  return legal;
}

/// Units worth trying on the dims of an operand: `units`, and those that
/// operands have now on dims of the same factor.
static std::vector<Units> unitsOf(const BoundRule &rule,
                                  const std::vector<Sharding> &held,
                                  size_t operand, const Units &units) {
  std::vector<Units> out;
  for (const DimFactor &dim : rule.operands[operand]) {
    Units &here = out.emplace_back(units);
    for (size_t i = 0; i < held.size(); ++i)
      for (const Placement &p : held[i].placements)
        if (p.isShard() && rule.operands[i][p.dim].factor == dim.factor)
          here.insert(p.unit);
  }
  return out;
}

/// Checks the choice for some operands against all changes.
static void checkChoice(const OpCall &call, const BoundRule &rule,
                        const std::vector<Sharding> &held, const Units &units) {
  const MeshRef &mesh = held[0].mesh;
  std::vector<std::vector<Sharding>> alternatives;
  for (size_t i = 0; i < held.size(); ++i)
    alternatives.push_back(alternativesOf(mesh, rule.operandShapes[i],
                                          unitsOf(rule, held, i, units)));
  const Shape &resultShape = rule.resultShapes[0];
  std::vector<Sharding> results = alternativesOf(
      mesh, resultShape,
      std::vector<Units>(resultShape.size(), Units{1, 2, 3, 4, 6}));
  auto choice = chooseRows(rule, held, Ints(held.size(), 1));
  ASSERT_TRUE(choice);
  ASSERT_TRUE(matches(rule, choice->operands, choice->results));
  Cost best = cheapest(rule, held, alternatives, results);
  std::string what = mesh->str() + std::string(call.op->name) +
                     toString(call.operands[0].shape);
  for (const Sharding &s : held)
    what += s.placementsStr();
  EXPECT_EQ(choice->cost.bytes, best.bytes) << what;
  EXPECT_EQ(choice->cost.collectives, best.collectives) << what;
  EXPECT_EQ(choice->cost.changed, best.changed) << what;
}

TEST(RowChoice, IsTheCheapestOfAll) {
  // Calls with the units that a dim's granule in another tensor suggests.
  std::vector<std::pair<OpCall, Units>> calls = {
      {binary("add", {4, 3}, {4, 3}), {1}},
      {binary("mul", {4, 3}, {3}), {1}},
      {binary("sub", {3, 1}, {1, 4}), {1}},
      {callOf("linear", {{3, 6}, {4, 6}}), {1}},
      {callOf("matmul", {{4, 6}, {6, 5}}), {1}},
      {callOf("softmax", {{4, 5}}, {{"dim", int64_t(1)}}), {1}},
      {callOf("view", {{6, 3}}, {{"shape", Ints{3, 2, 3}}}), {1, 2}},
      {callOf("view", {{3, 2, 3}}, {{"shape", Ints{6, 3}}}), {1}},
      {callOf("cat", {{3, 2}, {3, 4}}, {{"dim", int64_t(1)}}), {1}},
      {embeddingCall({5, 4}, {3}), {1}},
  };
  int64_t cases = 0;
  for (const MeshRef &mesh : {meshOf({2}), meshOf({3}), meshOf({2, 2})})
    for (const auto &[call, units] : calls) {
      BoundRule rule = bindRule(call);
      std::vector<std::vector<Sharding>> held;
      for (const Shape &shape : rule.operandShapes)
        held.push_back(alternativesOf(
            mesh, shape, std::vector<Units>(shape.size(), Units{1, 2, 3})));
      // All pairs on two axes would take minutes; a stride covers them.
      size_t stride = mesh->ndim() > 1 ? 13 : 1, next = 0;
      for (const Sharding &a : held[0])
        for (size_t b = 0; b < (held.size() > 1 ? held[1].size() : 1); ++b) {
          if (next++ % stride)
            continue;
          std::vector<Sharding> operands = {a};
          if (held.size() > 1)
            operands.push_back(held[1][b]);
          ASSERT_NO_FATAL_FAILURE(checkChoice(call, rule, operands, units));
          ++cases;
        }
    }
  EXPECT_GT(cases, 1000);
}
