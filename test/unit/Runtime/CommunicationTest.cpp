//===- CommunicationTest.cpp - collectives against brute force ------------===//
//
// Every step that is legal on small meshes is run and compared, device by
// device, with what the shard law and plain arithmetic say.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"
#include "dtorch/Sharding/RedistributePlan.h"

#include <random>

using namespace dtorch;
using namespace dtorch::testing;

namespace {

/// The value of an element that the devices of pending axes contribute to: an
/// integer below 8 that depends on the element and the pending coordinates.
class Pending {
public:
  Pending(const BufferType &type, int seed) : type(type), seed(seed) {
    for (const Placement &p : type.sharding.placements)
      if (p.isPartial())
        kind = p.reduce;
  }

  double part(int64_t element, const Shape &coordinates) const {
    uint64_t hash = element * 2654435761u + seed;
    for (size_t a = 0; a < coordinates.size(); ++a)
      if (type.sharding.placements[a].isPartial())
        hash = hash * 31 + coordinates[a] + 7;
    int64_t value = (hash >> 7) % 8;
    return type.dtype == DType::Bool ? value % 2 : value - 3;
  }

  /// Combined over the pending axes in `over`, at the coordinates of others.
  double combined(int64_t element, Shape coordinates,
                  const std::vector<int64_t> &over) const {
    double result = 0;
    bool first = true;
    const DeviceMesh &mesh = *type.sharding.mesh;
    for (int64_t member : mesh.group(mesh.indexOf(coordinates), over)) {
      double value = part(element, mesh.coordinates(member));
      if (first)
        result = value;
      else if (type.dtype == DType::Bool)
        result =
            kind == ReduceKind::Min ? (result && value) : (result || value);
      else
        result = kind == ReduceKind::Sum   ? result + value
                 : kind == ReduceKind::Max ? std::max(result, value)
                                           : std::min(result, value);
      first = false;
    }
    return result;
  }

private:
  const BufferType type;
  const int seed;
  ReduceKind kind = ReduceKind::Sum;
};

/// Global numbers of the elements of a box, in its order.
std::vector<int64_t> elementsOf(const Box &box, const Shape &shape) {
  std::vector<int64_t> elements;
  int64_t count = box.numElements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, element = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      element += (box.offset[d] + rest % box.size[d]) * stride;
      rest /= box.size[d];
      stride *= shape[d];
    }
    elements.push_back(element);
  }
  return elements;
}

DistTensorRef makeInput(const BufferType &type, const Pending &values) {
  auto tensor = std::make_shared<DistTensor>(DistTensor{type, {}});
  for (int64_t i = 0; i < type.sharding.mesh->numDevices(); ++i) {
    std::vector<double> local;
    for (int64_t element : elementsOf(type.boxOf(i), type.shape))
      local.push_back(values.part(element, type.sharding.mesh->coordinates(i)));
    tensor->locals.push_back(toStorage(type.dtype, local));
  }
  return tensor;
}

Program oneStep(const RedistributeStep &step, const Shape &shape, DType dtype) {
  FunctionBuilder main("main");
  int64_t in = main.argument({shape, dtype, step.from});
  int64_t out = main.result({shape, dtype, step.to});
  main.communicate(std::string(toString(step.kind)), in, out, step.axes);
  return {{main.function}};
}

/// What a device must hold after a step from pending input values.
std::vector<double> expected(const RedistributeStep &step, const BufferType &to,
                             int64_t index, const Pending &values) {
  Shape coordinates = to.sharding.mesh->coordinates(index);
  std::vector<int64_t> reduced;
  bool zero = false;
  for (size_t a = 0; a < coordinates.size(); ++a) {
    bool from = step.from.placements[a].isPartial(),
         now = step.to.placements[a].isPartial();
    if (from && !now)
      reduced.push_back(a);
    if (!from && now && coordinates[a] != 0)
      zero = true;
  }
  std::vector<double> result;
  for (int64_t element : elementsOf(to.boxOf(index), to.shape))
    result.push_back(zero ? 0 : values.combined(element, coordinates, reduced));
  return result;
}

int64_t checkStep(const RedistributeStep &step, const Shape &shape,
                  DType dtype) {
  BufferType from{shape, dtype, step.from}, to{shape, dtype, step.to};
  Pending values(from, shape.size() + static_cast<int>(dtype));
  resetCommunicationCounters();
  auto results = run(oneStep(step, shape, dtype), {makeInput(from, values)});
  std::string name(toString(step.kind));
  int64_t bytes = 0;
  for (int64_t i = 0; i < to.sharding.mesh->numDevices(); ++i) {
    std::vector<double> want = expected(step, to, i, values);
    EXPECT_EQ(toValues(dtype, results[0]->locals[i]->data(), want.size()), want)
        << name << " of " << from.str() << " -> " << to.str() << " on device "
        << i;
    bytes += bytesReceived(step, shape, itemSize(dtype), i);
  }
  auto counters = communicationCounters();
  if (isLocal(step.kind)) {
    EXPECT_TRUE(counters.empty());
  } else {
    EXPECT_EQ(counters.size(), 1u);
    EXPECT_EQ(counters[name].count, 1);
    EXPECT_EQ(counters[name].bytes, bytes)
        << name << " of " << from.str() << " -> " << to.str();
  }
  return 1;
}

std::vector<Placement> placementsOf(const Shape &shape, int64_t unit) {
  std::vector<Placement> all = {Placement::replicate(), Placement::partial()};
  for (size_t d = 0; d < shape.size(); ++d)
    all.push_back(Placement::shard(d, shape[d] % unit == 0 ? unit : 1));
  return all;
}

/// All shardings of a mesh by the product of placements.
std::vector<Sharding> shardingsOf(const MeshRef &on,
                                  const std::vector<Placement> &all) {
  std::vector<Sharding> result = {{on, {}}};
  for (int64_t a = 0; a < on->ndim(); ++a) {
    std::vector<Sharding> longer;
    for (const Sharding &s : result)
      for (const Placement &p : all) {
        longer.push_back(s);
        longer.back().placements.push_back(p);
      }
    result = std::move(longer);
  }
  return result;
}

/// Runs every legal step between the shardings, types taken in turn.
int64_t checkAllSteps(const MeshRef &on, const Shape &shape, int64_t unit = 1,
                      int64_t every = 1) {
  int64_t ran = 0, seen = 0;
  std::vector<Sharding> shardings = shardingsOf(on, placementsOf(shape, unit));
  for (const Sharding &from : shardings)
    for (const Sharding &to : shardings) {
      RedistributeStep step{StepKind::Slice, {}, from, to};
      for (size_t a = 0; a < from.placements.size(); ++a)
        if (from.placements[a] != to.placements[a])
          step.axes.push_back(a);
      if (step.axes.empty())
        continue;
      for (StepKind kind :
           {StepKind::Slice, StepKind::Mask, StepKind::AllGather,
            StepKind::AllReduce, StepKind::ReduceScatter, StepKind::AllToAll,
            StepKind::Exchange}) {
        step.kind = kind;
        if (!stepProblem(step, shape).empty() || seen++ % every)
          continue;
        ran += checkStep(step, shape, allDTypes[ran % allDTypes.size()]);
        if (::testing::Test::HasFailure())
          return ran;
      }
    }
  return ran;
}

TEST(CommunicationTest, EveryStepOnOneAxis) {
  for (int64_t k : {2, 3, 4})
    for (Shape shape : {Shape{7, 4}, Shape{1, 5}, Shape{0, 3}, Shape{8, 6}})
      EXPECT_GE(checkAllSteps(mesh({k}), shape), 12);
}

TEST(CommunicationTest, EveryStepOnTwoAxes) {
  EXPECT_GE(checkAllSteps(mesh({2, 3}), {5, 7}), 150);
  EXPECT_GE(checkAllSteps(mesh({2, 2}), {3, 1}), 150);
}

TEST(CommunicationTest, StepsWithUnits) {
  EXPECT_GE(checkAllSteps(mesh({2, 2}), {6, 9}, 3), 150);
  EXPECT_GE(checkAllSteps(mesh({2}), {18, 2}, 2), 12);
}

TEST(CommunicationTest, StepsOnThreeAxes) {
  EXPECT_GE(checkAllSteps(mesh({2, 2, 2}), {5, 3}, 1, 11), 100);
}

TEST(CommunicationTest, LargeReductionsAreShared) {
  // Above the size from which the members of a group share the work.
  MeshRef on = mesh({2, 2});
  Sharding pending{on, {Placement::partial(), Placement::partial()}};
  Sharding whole{on, {Placement::replicate(), Placement::replicate()}};
  Sharding rows{on, {Placement::shard(0), Placement::shard(0)}};
  Sharding columns{on, {Placement::shard(1), Placement::shard(1)}};
  for (DType dtype : allDTypes)
    for (Shape shape : {Shape{203, 101}, Shape{7, 3001}}) {
      checkStep({StepKind::AllReduce, {0, 1}, pending, whole}, shape, dtype);
      checkStep({StepKind::ReduceScatter, {0, 1}, pending, rows}, shape, dtype);
      checkStep({StepKind::ReduceScatter, {0, 1}, pending, columns}, shape,
                dtype);
    }
}

TEST(CommunicationTest, MaximumAndMinimum) {
  for (ReduceKind kind : {ReduceKind::Max, ReduceKind::Min})
    for (DType dtype : allDTypes) {
      MeshRef on = mesh({3});
      Sharding pending{on, {Placement::partial(kind)}};
      checkStep(
          {StepKind::AllReduce, {0}, pending, {on, {Placement::replicate()}}},
          {5, 3}, dtype);
      checkStep(
          {StepKind::ReduceScatter, {0}, pending, {on, {Placement::shard(0)}}},
          {5, 3}, dtype);
    }
}

DistTensorRef partsOf(DType dtype, std::vector<double> parts) {
  Sharding pending{mesh({int64_t(parts.size())}), {Placement::partial()}};
  auto tensor =
      std::make_shared<DistTensor>(DistTensor{{{1}, dtype, pending}, {}});
  for (double part : parts)
    tensor->locals.push_back(toStorage(dtype, {part}));
  return tensor;
}

TEST(CommunicationTest, ShortFloatsAreSummedInFp32AndRoundedOnce) {
  // A running sum in bfloat16 would stay at 256.
  for (size_t parts : {4, 8}) {
    std::vector<double> values(parts, 1);
    values[0] = 256;
    DistTensorRef input = partsOf(DType::BFloat16, values);
    Sharding whole{input->type.sharding.mesh, {Placement::replicate()}};
    auto results =
        run(oneStep({StepKind::AllReduce, {0}, input->type.sharding, whole},
                    {1}, DType::BFloat16),
            {input});
    for (const StorageRef &local : results[0]->locals)
      EXPECT_EQ(get(DType::BFloat16, local->data(), 0), parts == 4 ? 260 : 264);
  }
}

TEST(CommunicationTest, MaximumPropagatesNaN) {
  MeshRef on = mesh({2});
  Sharding pending{on, {Placement::partial(ReduceKind::Max)}};
  for (bool first : {true, false}) {
    auto input = std::make_shared<DistTensor>(
        DistTensor{{{1}, DType::Float32, pending}, {}});
    input->locals = {toStorage(DType::Float32, {first ? NAN : 1}),
                     toStorage(DType::Float32, {first ? 1 : NAN})};
    auto results = run(
        oneStep(
            {StepKind::AllReduce, {0}, pending, {on, {Placement::replicate()}}},
            {1}, DType::Float32),
        {input});
    EXPECT_TRUE(
        std::isnan(get(DType::Float32, results[0]->locals[0]->data(), 0)));
  }
}

/// Host to every sharding and back, and bytes of the way back.
TEST(CommunicationTest, FromHostAndToHost) {
  Shape shape{5, 7};
  std::vector<double> values;
  for (int i = 0; i < 35; ++i)
    values.push_back(i % 8);
  MeshRef on = mesh({2, 3});
  for (DType dtype : {DType::Float32, DType::BFloat16, DType::Int64})
    for (const Sharding &sharding : shardingsOf(on, placementsOf(shape, 1))) {
      FunctionBuilder main("main");
      BufferType host{shape, dtype, Sharding::host()},
          there{shape, dtype, sharding};
      int64_t in = main.argument(host), placed = main.result(there);
      main.communicate("from_host", in, placed);
      if (!sharding.hasPartial())
        main.communicate("to_host", placed, main.result(host));
      resetCommunicationCounters();
      auto results = run({{main.function}}, {hostTensor(dtype, shape, values)});
      EXPECT_EQ(whole(*results[0]), values) << there.str();
      auto counters = communicationCounters();
      EXPECT_EQ(counters.count("from_host"), 0u);
      if (sharding.hasPartial())
        continue;
      EXPECT_EQ(whole(*results[1]), values) << there.str();
      EXPECT_EQ(counters["to_host"].count, 1);
      EXPECT_EQ(counters["to_host"].bytes, 35 * itemSize(dtype));
    }
}

/// Whole plans: drawn pairs of shardings, every type, 1-D to 3-D.
TEST(CommunicationTest, DrawnRedistributes) {
  std::mt19937 random(5);
  auto draw = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (int round = 0; round < 250; ++round) {
    Shape sizes =
        std::vector<Shape>{{2}, {4}, {2, 2}, {2, 3}, {2, 2, 2}}[draw(5)];
    Shape shape;
    for (int64_t d = 1 + draw(3); d > 0; --d)
      shape.push_back(draw(8) == 0 ? 0 : 1 + draw(9));
    DType dtype = allDTypes[draw(allDTypes.size())];
    Shape units;
    for (int64_t n : shape)
      units.push_back(n && n % 3 == 0 && draw(2) ? 3 : 1);
    auto sharding = [&] {
      Sharding s{mesh(sizes), {}};
      for (size_t a = 0; a < sizes.size(); ++a) {
        int64_t pick = draw(shape.size() + 2);
        s.placements.push_back(
            pick == 0   ? Placement::replicate()
            : pick == 1 ? Placement::partial()
                        : Placement::shard(pick - 2, units[pick - 2]));
      }
      return normalised(s, shape);
    };
    BufferType from{shape, dtype, sharding()}, to{shape, dtype, sharding()};
    const RedistributePlan &plan =
        planRedistribute(from.sharding, to.sharding, shape, itemSize(dtype));
    FunctionBuilder main("main");
    int64_t at = main.argument(from);
    for (const RedistributeStep &step : plan.steps) {
      int64_t next = main.arena({shape, dtype, step.to});
      main.communicate(std::string(toString(step.kind)), at, next, step.axes);
      at = next;
    }
    BufferType last = main.function.buffers[at].type;
    main.copy(at, main.result(last));
    Pending values(from, round);
    DistTensorRef input = makeInput(from, values);
    auto results = run({{main.function}}, {input});
    EXPECT_EQ(whole(*results[0]), whole(*input))
        << from.str() << " -> " << to.str();
    for (int64_t i = 0; i < to.sharding.mesh->numDevices(); ++i)
      EXPECT_EQ(last.boxOf(i), to.boxOf(i));
  }
}

TEST(CommunicationTest, WrongStepsAreErrors) {
  MeshRef on = mesh({2});
  Sharding rows{on, {Placement::shard(0)}}, whole{on, {Placement::replicate()}};
  auto load = [&](std::string kind, Sharding from, Sharding to, Shape axes) {
    return errorOf([&] {
      FunctionBuilder main("main");
      int64_t in = main.argument({{4}, DType::Float32, from});
      main.communicate(kind, in, main.result({{4}, DType::Float32, to}), axes);
      Executor::local().load({{main.function}});
    });
  };
  EXPECT_NE(load("all_reduce", rows, whole, {0}), "");
  EXPECT_NE(load("all_gather", rows, whole, {1}), "");
  EXPECT_NE(load("broadcast", rows, whole, {0}), "");
  EXPECT_NE(load("all_gather", rows, Sharding::host(), {0}), "");
  EXPECT_NE(load("to_host", Sharding{on, {Placement::partial()}},
                 Sharding::host(), {}),
            "");
  EXPECT_EQ(load("all_gather", rows, whole, {0}), "");
}

} // namespace
