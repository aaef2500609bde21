//===- GraphToMLIRTest.cpp - the global phase of a capture ----------------===//

#include "dtorch/Graph/GraphToMLIR.h"
#include "Helpers.h"
#include "dtorch/Target/Compile.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

using namespace dtorch;
using namespace dtorch::test;

/// The text of the module, which must verify.
static std::string globalText(const NodeRef &node) {
  mlir::DialectRegistry registry;
  registerDtorchDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  Capture captured = capture(std::vector{node});
  auto module =
      buildGlobalModule(context, captured, outlineModuleCalls(captured));
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  return printModule(*module);
}

static int64_t count(const std::string &text, std::string_view part) {
  int64_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(GraphToMLIR, ShardingsStandOnArgumentsAndRedistributes) {
  Graph graph;
  MeshRef mesh = mesh2x2();
  NodeRef x = input({3, 8});
  NodeRef w = input({5, 8}, {mesh, {Placement{}, Placement::shard(0)}});
  w->editInfo().name = "fc.weight";
  w->parameter = true;
  NodeRef h = graph.redistribute(x, {mesh, {Placement::shard(0), {}}});
  h = graph.record("linear", {h, w}, {}, Location::get("model.py", 17));
  graph.setMode(Mode::Strict);
  std::string text = globalText(binary(graph, "mul", h, scalar(2)));
  EXPECT_NE(text.find("dtorch.name = \"input0\""), std::string::npos) << text;
  EXPECT_NE(text.find("dtorch.name = \"fc.weight\", dtorch.parameter"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("dtorch.name = \"scalar0\""), std::string::npos);
  EXPECT_NE(text.find("dtorch.name = \"output0\""), std::string::npos);
  EXPECT_NE(text.find("-> tensor<3x5xf32>"), std::string::npos);
  EXPECT_NE(text.find("\"model.py\":17:0"), std::string::npos);
  EXPECT_EQ(count(text, "dtorch.strict"), 1);
}

TEST(GraphToMLIR, MixedArgumentsLoseTheirSharding) {
  Graph graph;
  MeshRef mesh = mesh2x2();
  NodeRef x = graph.redistribute(input({4}), Sharding::replicated(mesh));
  NodeRef w = input({4}, Sharding::replicated(mesh));
  for (int i = 0; i < 3; ++i) {
    graph.pushScope("m." + std::to_string(i));
    x = unary(graph, "exp", binary(graph, "mul", x, w));
    graph.popScope();
  }
  std::string text = globalText(x);
  // Only the first call's first operand has a sharding; the weight always has.
  EXPECT_EQ(count(text, "unrealized_conversion_cast"), 1) << text;
  EXPECT_EQ(count(text, "call @m("), 3);
  EXPECT_NE(text.find("func.func private @m(%arg0: tensor<4xf32>"),
            std::string::npos)
      << text;
}
