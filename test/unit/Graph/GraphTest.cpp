//===- GraphTest.cpp - recording ------------------------------------------===//

#include "Helpers.h"

#include <cmath>
#include <thread>

using namespace dtorch;
using namespace dtorch::test;

static const Placement R = Placement::replicate();
static const Placement P = Placement::partial();
static Placement S(int64_t dim) { return Placement::shard(dim); }

TEST(Graph, InfersShapeTypeAndPlacements) {
  Graph graph;
  MeshRef mesh = mesh2x2();
  NodeRef x = input({3, 8}, {mesh, {S(0), R}});
  NodeRef w1 = input({5, 8}, {mesh, {R, S(0)}});
  NodeRef w2 = input({8, 5}, {mesh, {R, S(1)}});

  NodeRef h = graph.record("linear", {x, w1}, {});
  EXPECT_EQ(h->type().shape, (Shape{3, 5}));
  EXPECT_EQ(h->sharding().placements, (std::vector{S(0), S(1)}));

  NodeRef y = graph.record("linear", {h, w2}, {});
  EXPECT_EQ(y->type().str(), "f32[3, 8]");
  EXPECT_EQ(y->sharding().placements, (std::vector{S(0), P}));
  EXPECT_FALSE(y->computed());

  NodeRef less = binary(graph, "lt", x, x);
  EXPECT_EQ(less->type().dtype, DType::Bool);
}

TEST(Graph, HostOperandsJoinTheMesh) {
  Graph graph;
  NodeRef x = input({4, 8}, {mesh2x2(), {S(0), R}});
  NodeRef y = binary(graph, "mul", x, scalar(2));
  EXPECT_EQ(y->sharding(), x->sharding());
  // Two host operands stay on the host.
  EXPECT_TRUE(binary(graph, "mul", scalar(2), scalar(3))->sharding().isHost());
}

TEST(Graph, EqualUsesAreShared) {
  Graph graph;
  NodeRef x = input({4, 8}), y = input({4, 8}), z = input({4, 9});
  OpUseRef use = unary(graph, "neg", x)->use();
  EXPECT_EQ(unary(graph, "neg", y)->use(), use);
  EXPECT_NE(unary(graph, "neg", z)->use(), use);
  EXPECT_NE(unary(graph, "abs", x)->use(), use);
}

TEST(Graph, AxesOfSizeOneKeepWhatWasWritten) {
  Graph graph;
  MeshRef mesh = DeviceMesh::regular("cpu", {"dp", "tp"}, {2, 1});
  NodeRef x = input({4, 8});
  NodeRef y = graph.redistribute(x, {mesh, {S(0), S(1)}});
  EXPECT_EQ(y->sharding().placements, (std::vector{S(0), S(1)}));
  EXPECT_EQ(y->normalSharding().placements, (std::vector{S(0), R}));
  // An op's result shows the normal form.
  EXPECT_EQ(unary(graph, "neg", y)->sharding().placements,
            (std::vector{S(0), R}));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(GraphErrors, CarryTheLocation) {
  Graph graph;
  NodeRef x = input({4, 8}), w = input({5, 9});
  ErrorKind kind;
  std::string message = errorOf(
      [&] {
        graph.record("linear", {x, w}, {}, Location::get("model.py", 17));
      },
      &kind);
  EXPECT_EQ(message.rfind("model.py:17: error: linear", 0), 0u) << message;
  EXPECT_EQ(kind, ErrorKind::Value);
}

TEST(GraphErrors, UnknownOp) {
  Graph graph;
  EXPECT_EQ(errorOf([&] { graph.record("swoosh", {scalar(1)}, {}); }),
            "swoosh: there is no op of this name");
}

TEST(GraphErrors, TwoMeshes) {
  Graph graph;
  MeshRef other = DeviceMesh::regular("cpu", {"dp", "tp"}, {2, 2}, 4);
  NodeRef x = input({4, 8}, {mesh2x2(), {R, R}});
  NodeRef y = input({4, 8}, {other, {R, R}});
  ErrorKind kind;
  std::string message = errorOf([&] { binary(graph, "add", x, y); }, &kind);
  EXPECT_EQ(kind, ErrorKind::Placement);
  EXPECT_NE(message.find("add: operands must be on one mesh"),
            std::string::npos)
      << message;
  errorOf([&] { graph.redistribute(x, y->sharding()); }, &kind);
  EXPECT_EQ(kind, ErrorKind::Absent);
}

TEST(GraphErrors, RedistributeChecksPlacements) {
  Graph graph;
  NodeRef x = input({4, 8}, {mesh2x2(), {R, R}});
  ErrorKind kind;
  errorOf([&] { graph.redistribute(x, {mesh2x2(), {S(2), R}}); }, &kind);
  EXPECT_EQ(kind, ErrorKind::Placement);
  errorOf([&] { graph.redistribute(x, {mesh2x2(), {R}}); }, &kind);
  EXPECT_EQ(kind, ErrorKind::Placement);
  Placement most = Placement::partial(ReduceKind::Max);
  errorOf([&] { graph.redistribute(x, {mesh2x2(), {most, R}}); }, &kind);
  EXPECT_EQ(kind, ErrorKind::Placement);
}

TEST(GraphErrors, StrictModeInsertsNoCommunication) {
  Graph graph;
  MeshRef mesh = mesh2x2();
  NodeRef x = input({4, 8}, {mesh, {S(0), S(1)}});
  NodeRef y = input({4, 8}, {mesh, {S(0), S(0)}});
  Attrs softmax{{"dim", int64_t(1)}};
  EXPECT_EQ(graph.record("softmax", {x}, softmax)->type().shape, (Shape{4, 8}));

  graph.setMode(Mode::Strict);
  ErrorKind kind;
  std::string message =
      errorOf([&] { graph.record("softmax", {x}, softmax); }, &kind);
  EXPECT_EQ(kind, ErrorKind::Placement);
  EXPECT_NE(message.find("[S(0), S(1)]"), std::string::npos) << message;
  EXPECT_NE(message.find("(S(0) -> S(0))"), std::string::npos) << message;
  // Local slices are allowed.
  NodeRef z = input({4, 8}, {mesh, {R, R}});
  EXPECT_EQ(binary(graph, "add", y, z)->sharding(), y->sharding());
}

//===----------------------------------------------------------------------===//
// Numbers that break pending values
//===----------------------------------------------------------------------===//

TEST(GraphPending, FiniteFactorsPass) {
  Graph graph;
  NodeRef x = input({4, 8}, {mesh2x2(), {S(0), P}});
  for (double factor : {-5.0, 0.0, 2.0})
    EXPECT_EQ(binary(graph, "mul", x, scalar(factor))->sharding().placements,
              (std::vector{S(0), P}));
  EXPECT_EQ(binary(graph, "div", x, scalar(2))->sharding().placements,
            (std::vector{S(0), P}));
}

TEST(GraphPending, OthersReduceFirst) {
  Graph graph;
  NodeRef x = input({4, 8}, {mesh2x2(), {S(0), P}});
  auto expectReduced = [&](NodeRef y, size_t operand) {
    EXPECT_EQ(y->sharding().placements, (std::vector{S(0), R}));
    EXPECT_EQ(y->inputs()[operand]->kind(), Node::Kind::Redistribute);
  };
  expectReduced(binary(graph, "mul", x, scalar(INFINITY)), 0);
  expectReduced(binary(graph, "mul", scalar(NAN), x), 1);
  expectReduced(binary(graph, "div", x, scalar(0)), 0);
  expectReduced(binary(graph, "div", x, scalar(-INFINITY)), 0);
  graph.setMode(Mode::Strict);
  EXPECT_NE(errorOf([&] { binary(graph, "div", x, scalar(0)); }), "no error");
}

//===----------------------------------------------------------------------===//
// Lifetime and threads
//===----------------------------------------------------------------------===//

TEST(GraphLifetime, NodesNobodyHoldsDisappear) {
  Graph graph;
  NodeRef x = input({4});
  NodeRef y = unary(graph, "exp", unary(graph, "neg", x));
  EXPECT_EQ(graph.numLiveNodes(), 2);
  y.reset();
  EXPECT_EQ(graph.numLiveNodes(), 0);
  EXPECT_EQ(x.useCount(), 1);
}

TEST(GraphLifetime, LongChainsAreReleasedWithoutRecursion) {
  Graph graph;
  NodeRef x = input({4});
  for (int i = 0; i < 1'000'000; ++i)
    x = unary(graph, "neg", std::move(x));
  EXPECT_EQ(graph.numLiveNodes(), 1'000'000);
  x.reset();
  EXPECT_EQ(graph.numLiveNodes(), 0);
}

TEST(GraphLifetime, PendingNodesAreTheHeldOnes) {
  Graph graph;
  NodeRef x = input({4});
  NodeRef h = unary(graph, "neg", unary(graph, "exp", x));
  NodeRef y = unary(graph, "abs", h);
  EXPECT_EQ(graph.pendingNodes(), (std::vector{h, y}));
}

TEST(GraphThreads, RecordIntoOneGraph) {
  Graph graph;
  NodeRef x = input({4});
  std::vector<NodeRef> ends(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < ends.size(); ++t)
    threads.emplace_back([&, t] {
      std::string path = "model.layers." + std::to_string(t);
      graph.pushScope(path);
      NodeRef y = x;
      for (int i = 0; i < 1000; ++i)
        y = unary(graph, i % 2 ? "neg" : "exp", y);
      EXPECT_EQ(y->scope()->path, path);
      graph.popScope();
      ends[t] = y;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(graph.numLiveNodes(), 4000);
  EXPECT_EQ(graph.pendingNodes().size(), 4u);
  EXPECT_NE(errorOf([&] { graph.popScope(); }), "no error");
}
