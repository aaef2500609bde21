//===- SessionTest.cpp - flushes without Python ---------------------------===//

#include "dtorch/Session/Session.h"
#include "dtorch/Runtime/Executor.h"
#include "dtorch/Session/Inputs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

using namespace dtorch;

static const Placement R = Placement::replicate();
static const Placement P = Placement::partial();
static Placement S(int64_t dim) { return Placement::shard(dim); }

static MeshRef mesh2x2() {
  return DeviceMesh::regular("cpu", {"dp", "tp"}, {2, 2});
}

static NodeRef put(std::vector<float> values, Shape shape,
                   Sharding sharding = Sharding::host()) {
  StorageRef storage = Storage::allocate(values.size() * sizeof(float));
  std::memcpy(storage->data(), values.data(), storage->size());
  return makeInput(storage, {std::move(shape), DType::Float32},
                   std::move(sharding));
}

static std::vector<float> look(const NodeRef &node) {
  Session::local().flush({node});
  std::vector<float> values(numElements(node->type().shape));
  assemble(*node->value(), values.data());
  return values;
}

static NodeRef mul(Graph &graph, NodeRef lhs, NodeRef rhs) {
  return graph.record("binary", {std::move(lhs), std::move(rhs)},
                      {{"kind", std::string("mul")}});
}

TEST(Session, ComputesOnceAndKeepsTheValue) {
  Graph graph;
  NodeRef x = put({1, 2, 3}, {3}, {mesh2x2(), {S(0), R}});
  NodeRef y = mul(graph, x, makeScalar(2.0, DType::Float32));
  EXPECT_EQ(look(y), (std::vector<float>{2, 4, 6}));
  CompileCounters before = Session::local().counters();
  EXPECT_EQ(look(y), (std::vector<float>{2, 4, 6}));
  CompileCounters after = Session::local().counters();
  EXPECT_EQ(after.programs, before.programs);
  EXPECT_EQ(after.cacheHits, before.cacheHits);
}

TEST(Session, NodesOfSeveralGraphsAreOneProgram) {
  Graph first, second;
  NodeRef x = put({1, 2, 3}, {3});
  NodeRef y = mul(first, x, x);
  NodeRef z = mul(second, y, x);
  CompileCounters before = Session::local().counters();
  Session::local().flush({z, y});
  EXPECT_TRUE(y->computed() && z->computed());
  EXPECT_EQ(Session::local().counters().programs, before.programs + 1);
  EXPECT_EQ(look(z), (std::vector<float>{1, 8, 27}));
}

TEST(Session, ParametersArePlacedOncePerVersion) {
  Graph graph;
  MeshRef mesh = mesh2x2();
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), 0);
  NodeRef weight = put(values, {3, 4}, {mesh, {S(0), S(1)}});
  weight->editInfo().name = "weight";
  weight->parameter = true;
  auto forward = [&](const NodeRef &parameter) {
    NodeRef placed = graph.redistribute(parameter, {mesh, {R, S(0)}});
    return look(mul(graph, placed, makeScalar(1.0, DType::Float32)));
  };
  auto collectives = [] {
    int64_t count = 0;
    for (const auto &[kind, counter] : communicationCounters())
      count += counter.count;
    return count;
  };
  EXPECT_EQ(forward(weight), values);
  int64_t once = collectives();
  EXPECT_EQ(forward(weight), values);
  EXPECT_EQ(collectives(), once);

  NodeRef next = assigned(
      *weight, *put(std::vector<float>(12, 7), {3, 4}, {mesh, {S(0), S(1)}}));
  EXPECT_EQ(forward(next), std::vector<float>(12, 7));
  EXPECT_GT(collectives(), once);
  EXPECT_EQ(forward(weight), values);
}

TEST(Session, PendingInputsKeepTheValueAtTheFirstDevice) {
  NodeRef x = put({1, 2, 3}, {3}, {mesh2x2(), {S(0), P}});
  const DistTensor &value = *x->value();
  EXPECT_EQ(static_cast<const float *>(value.locals[0]->data())[1], 2);
  EXPECT_EQ(static_cast<const float *>(value.locals[1]->data())[1], 0);
  EXPECT_EQ(static_cast<const float *>(value.locals[2]->data())[0], 3);
  EXPECT_EQ(look(x), (std::vector<float>{1, 2, 3}));
}

TEST(Session, ScalarsAreInTheirElementType) {
  auto bits = [](Number number, DType dtype) {
    uint64_t bits = 0;
    const DistTensorRef value = makeScalar(number, dtype)->value();
    std::memcpy(&bits, value->locals[0]->data(), itemSize(dtype));
    return bits;
  };
  EXPECT_EQ(bits(1.0, DType::BFloat16), 0x3f80u);
  EXPECT_EQ(bits(1 + 0x1p-8, DType::BFloat16), 0x3f80u);     // to even
  EXPECT_EQ(bits(1 + 3 * 0x1p-8, DType::BFloat16), 0x3f82u); // to even
  EXPECT_EQ(bits(1.0, DType::Float16), 0x3c00u);
  EXPECT_EQ(bits(-1.5, DType::Float32), 0xbfc00000u);
  EXPECT_EQ(bits(int64_t(5), DType::Int64), 5u);
  EXPECT_EQ(bits(true, DType::Bool), 1u);
  EXPECT_THROW(makeScalar(int64_t(1) << 31, DType::Int32), Error);
  EXPECT_THROW(makeScalar(1e300, DType::Int64), Error);
}
