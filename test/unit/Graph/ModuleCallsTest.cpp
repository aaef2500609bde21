//===- ModuleCallsTest.cpp - repeated module calls become functions -------===//

#include "dtorch/Graph/ModuleCalls.h"

#include "Helpers.h"
#include <thread>

using namespace dtorch;
using namespace dtorch::test;

namespace {

/// Records modules of unary and binary ops.
struct Recorder {
  Graph graph;

  template <typename Body> NodeRef call(const std::string &path, Body body) {
    graph.pushScope(path);
    NodeRef result = body();
    graph.popScope();
    return result;
  }
  /// exp(neg(x) * w), two levels deep.
  NodeRef layer(const std::string &path, NodeRef x, NodeRef w) {
    return call(path, [&] {
      NodeRef h = call(path + ".inner", [&] {
        return binary(graph, "mul", unary(graph, "neg", x), w);
      });
      return unary(graph, "exp", h);
    });
  }
};

} // namespace

static Outline outlineOf(const NodeRef &node) {
  return outlineModuleCalls(capture(std::vector{node}));
}

static std::vector<std::string> namesOf(const Outline &outline) {
  std::vector<std::string> names;
  for (const Outline::Function &function : outline.functions)
    names.push_back(function.name);
  return names;
}

TEST(ModuleCalls, RepeatedLayersAreOneFunction) {
  Recorder r;
  NodeRef x = input({4}), w = input({4});
  for (int i = 0; i < 30; ++i)
    x = r.layer("model.layers." + std::to_string(i), x, i % 2 ? w : input({4}));
  Outline outline = outlineOf(unary(r.graph, "abs", x));
  ASSERT_EQ(namesOf(outline), (std::vector<std::string>{"layers", "main"}));
  const Outline::Function &layer = outline.functions[0];
  EXPECT_EQ(layer.arguments.size(), 2u);
  EXPECT_EQ(layer.items.size(), 3u); // the inner module is part of it
  EXPECT_EQ(layer.results, (std::vector<int64_t>{4}));
  const Outline::Function &main = outline.functions[1];
  ASSERT_EQ(main.items.size(), 31u);
  EXPECT_EQ(main.items[7].function, 0);
  EXPECT_EQ(main.items[7].modulePath, "model.layers.7");
  // 17 arguments, so layer i gives value 17 + i.
  EXPECT_EQ(main.arguments.size(), 17u);
  EXPECT_EQ(main.items[7].operands.front(), 17 + 6);
}

TEST(ModuleCalls, DifferentStructureDifferentFunction) {
  Recorder r;
  NodeRef x = input({4}), w = input({4});
  // Twice with a weight, twice with itself as the weight: other wiring.
  NodeRef y = r.layer("m.0", x, w);
  y = r.layer("m.1", y, w);
  y = r.layer("m.2", y, y);
  y = r.layer("m.3", y, y);
  EXPECT_EQ(namesOf(outlineOf(y)),
            (std::vector<std::string>{"m", "m_1", "main"}));
}

TEST(ModuleCalls, PlacementsOfParametersCount) {
  Recorder r;
  MeshRef mesh = mesh2x2();
  Sharding whole = Sharding::replicated(mesh);
  Sharding cut{mesh, {Placement::shard(0), Placement::replicate()}};
  NodeRef x = input({4}, whole), w = input({4}, whole), v = input({4}, cut);
  v->parameter = w->parameter = true;
  NodeRef y = r.layer("m.1", r.layer("m.0", x, w), w);
  y = r.layer("m.2", y, v);
  // The last call's input is cut, which the passes look after.
  NodeRef z = r.layer("m.3", y, v);
  EXPECT_NE(y->sharding(), x->sharding());
  EXPECT_EQ(namesOf(outlineOf(z)),
            (std::vector<std::string>{"m", "m_1", "main"}));
}

TEST(ModuleCalls, MeshesCount) {
  Recorder r;
  NodeRef x = input({4}), w = input({4});
  NodeRef v = input({4}, Sharding::replicated(mesh2x2()));
  NodeRef y = r.layer("m.1", r.layer("m.0", x, w), v);
  EXPECT_EQ(namesOf(outlineOf(y)), (std::vector<std::string>{"main"}));
}

TEST(ModuleCalls, NestedOnesInsideASingleCall) {
  Recorder r;
  NodeRef x = input({4}), w = input({4});
  NodeRef y = r.call("model", [&] {
    return r.layer("model.blocks.1", r.layer("model.blocks.0", x, w), w);
  });
  Outline outline = outlineOf(y);
  EXPECT_EQ(namesOf(outline), (std::vector<std::string>{"blocks", "main"}));
  EXPECT_EQ(outline.functions.back().items.size(), 2u);
}

TEST(ModuleCalls, InnerCallsOfUnlikeLayers) {
  Recorder r;
  NodeRef x = input({4}), w = input({4});
  // The layers differ in their last op, their inner modules do not.
  auto layer = [&](const std::string &path, NodeRef in, const char *last) {
    return r.call(path, [&] {
      NodeRef h = r.call(path + ".norm", [&] {
        return binary(r.graph, "mul", unary(r.graph, "neg", in), w);
      });
      return unary(r.graph, last, h);
    });
  };
  NodeRef y = layer("layers.1", layer("layers.0", x, "exp"), "abs");
  EXPECT_EQ(namesOf(outlineOf(y)), (std::vector<std::string>{"norm", "main"}));
}

TEST(ModuleCalls, SingleOpsStay) {
  Recorder r;
  NodeRef x = input({4});
  for (const char *path : {"act.0", "act.1", "act.2"})
    x = r.call(path, [&] { return unary(r.graph, "exp", x); });
  EXPECT_EQ(namesOf(outlineOf(x)), (std::vector<std::string>{"main"}));
}

TEST(ModuleCalls, WrapperOfOneModuleIsNoRepetition) {
  Recorder r;
  NodeRef x = input({4}), w = input({4});
  // Outer and inner call hold the same ops, once.
  NodeRef y = r.call("wrapper", [&] {
    return r.call("wrapper.module", [&] {
      return binary(r.graph, "mul", unary(r.graph, "neg", x), w);
    });
  });
  EXPECT_EQ(namesOf(outlineOf(y)), (std::vector<std::string>{"main"}));
}

TEST(ModuleCalls, HeldValuesAreResultsOfEveryCall) {
  Recorder r;
  NodeRef x = input({4}), w = input({4}), held;
  NodeRef y = x;
  for (int i = 0; i < 3; ++i)
    y = r.call("layers." + std::to_string(i), [&] {
      NodeRef h = binary(r.graph, "mul", y, w);
      if (i == 1)
        held = h;
      return unary(r.graph, "exp", h);
    });
  Outline outline = outlineOf(y);
  ASSERT_EQ(namesOf(outline), (std::vector<std::string>{"layers", "main"}));
  EXPECT_EQ(outline.functions[0].results, (std::vector<int64_t>{2, 3}));
  // main: x, w, then two values a call.
  EXPECT_EQ(outline.functions[1].results, (std::vector<int64_t>{4, 7}));
  EXPECT_EQ(outline.functions[1].items[1].operands,
            (std::vector<int64_t>{3, 1}));
}

TEST(ModuleCalls, ValuesNeededFromOutsideMeanwhileStayInline) {
  Recorder r;
  NodeRef x = input({4}), y = x;
  for (int i = 0; i < 2; ++i) {
    // Part of the call is recorded, then an op outside that it needs, as
    // threads can do. As one function the call would come before its operand.
    NodeRef h, outside;
    r.graph.pushScope("m");
    h = unary(r.graph, "neg", y);
    ScopeRef scope = h->scope();
    std::thread([&] { outside = unary(r.graph, "abs", h); }).join();
    y = binary(r.graph, "mul", h, outside);
    EXPECT_EQ(y->scope(), scope);
    r.graph.popScope();
  }
  EXPECT_EQ(namesOf(outlineOf(y)), (std::vector<std::string>{"main"}));
}
