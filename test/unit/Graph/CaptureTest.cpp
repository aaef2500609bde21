//===- CaptureTest.cpp - what a flush computes ----------------------------===//

#include "dtorch/Graph/Capture.h"
#include "Helpers.h"

using namespace dtorch;
using namespace dtorch::test;

static std::vector<int64_t> operands(const Capture &capture, size_t step) {
  auto numbers = capture.steps[step].operands;
  return {numbers.begin(), numbers.end()};
}

static std::vector<bool> stored(const Capture &capture) {
  std::vector<bool> flags;
  for (const Capture::Step &step : capture.steps)
    flags.push_back(step.stored);
  return flags;
}

TEST(Capture, TakesAncestorsInOrder) {
  Graph graph;
  NodeRef x = input({4}), unused = input({4}), y = input({4});
  NodeRef a = unary(graph, "neg", x);
  NodeRef other = unary(graph, "exp", unused);
  NodeRef b = binary(graph, "add", a, y);
  NodeRef c = binary(graph, "mul", b, x);
  a.reset();
  b.reset();
  Capture result = capture(std::vector{c});
  EXPECT_EQ(result.inputs, (std::vector{x.get(), y.get()}));
  ASSERT_EQ(result.steps.size(), 3u);
  EXPECT_EQ(operands(result, 0), (std::vector<int64_t>{0}));
  EXPECT_EQ(operands(result, 1), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(operands(result, 2), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(stored(result), (std::vector{false, false, true}));
}

TEST(Capture, StoresWhatSomebodyHolds) {
  Graph graph;
  NodeRef x = input({4});
  NodeRef held = unary(graph, "neg", x);
  NodeRef y = unary(graph, "exp", unary(graph, "abs", held));
  EXPECT_EQ(stored(capture(std::vector{y})), (std::vector{true, false, true}));
  // A value that another recorded op needs is held by it.
  NodeRef later = unary(graph, "sqrt", held);
  held.reset();
  EXPECT_EQ(stored(capture(std::vector{y})), (std::vector{true, false, true}));
  later.reset();
  EXPECT_EQ(stored(capture(std::vector{y})), (std::vector{false, false, true}));
}

TEST(Capture, ComputedNodesAreInputs) {
  Graph graph;
  NodeRef x = input({4});
  NodeRef h = unary(graph, "neg", x);
  h->setValue(x->value());
  EXPECT_TRUE(h->inputs().empty());
  EXPECT_EQ(x.useCount(), 1); // the result needs its operand no more
  NodeRef y = unary(graph, "exp", h);
  Capture result = capture(std::vector{y, h});
  EXPECT_EQ(result.inputs, (std::vector{h.get()}));
  EXPECT_EQ(result.steps.size(), 1u);
  EXPECT_TRUE(capture(std::vector{h}).steps.empty());
}

TEST(Capture, LongChains) {
  Graph graph;
  NodeRef x = input({4});
  for (int i = 0; i < 100'000; ++i)
    x = unary(graph, "neg", std::move(x));
  EXPECT_EQ(capture(std::vector{x}).steps.size(), 100'000u);
}

TEST(Capture, NamesOfArguments) {
  Graph graph;
  NodeRef weight = input({4}), twin = input({4}), x = input({4});
  weight->editInfo().name = twin->editInfo().name = "fc.weight";
  weight->parameter = twin->parameter = true;
  NodeRef y = binary(graph, "mul", x, weight);
  y = binary(graph, "mul", y, scalar(2));
  y = binary(graph, "mul", y, twin);
  y = binary(graph, "mul", y, input({4}));
  EXPECT_EQ(argumentNames(capture(std::vector{y})),
            (std::vector<std::string>{"input0", "fc.weight", "scalar0",
                                      "fc.weight_0", "input1"}));
}

//===----------------------------------------------------------------------===//
// The structure
//===----------------------------------------------------------------------===//

static StructureKey keyOf(const NodeRef &node) {
  return structureKey(capture(std::vector{node}));
}

TEST(StructureKey, IgnoresValuesNamesAndLocations) {
  Graph graph;
  NodeRef x = input({4}), y = input({4});
  x->editInfo().name = "x";
  NodeRef a = binary(graph, "mul", x, scalar(2), Location::get("a.py", 1));
  NodeRef b = binary(graph, "mul", y, scalar(3), Location::get("b.py", 2));
  EXPECT_TRUE(keyOf(a) == keyOf(b));
}

TEST(StructureKey, SeesEverythingElse) {
  Graph graph;
  MeshRef mesh = mesh2x2();
  Placement r = Placement::replicate(), s = Placement::shard(0);
  NodeRef x = input({4}), y = input({4});
  std::vector<StructureKey> keys;
  std::vector<NodeRef> kept; // keys point to their types
  auto add = [&](const NodeRef &node) {
    kept.push_back(node);
    keys.push_back(keyOf(node));
  };
  add(binary(graph, "mul", x, y));
  add(binary(graph, "mul", x, x));                   // wiring
  add(binary(graph, "add", x, y));                   // attribute
  add(binary(graph, "mul", input({5}), input({5}))); // shape
  add(binary(graph, "mul", input({4}, Sharding::host(), DType::Float64),
             input({4}, Sharding::host(), DType::Float64)));
  add(binary(graph, "mul", input({4}, {mesh, {r, r}}), y)); // sharding
  add(binary(graph, "mul", input({4}, {mesh, {s, r}}), y));
  add(graph.redistribute(x, {mesh, {s, r}}));
  add(graph.redistribute(x, {mesh, {r, s}}));
  NodeRef held = unary(graph, "neg", x);
  add(unary(graph, "exp", held)); // what is stored
  add(unary(graph, "exp", unary(graph, "neg", x)));
  graph.pushScope("m"); // module calls
  add(binary(graph, "mul", x, y));
  graph.popScope();
  NodeRef parameter = input({4});
  parameter->parameter = true;
  add(binary(graph, "mul", parameter, y));
  graph.setMode(Mode::Strict);
  add(binary(graph, "mul", x, y));
  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(keys[i] == keys[j]) << i << " and " << j;
}
