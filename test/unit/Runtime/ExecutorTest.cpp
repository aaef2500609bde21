//===- ExecutorTest.cpp - programs on virtual devices ---------------------===//
#include "Testing.h"
#include "dtorch/Runtime/LocalExecutor.h"

#include <chrono>
#include <numeric>
#include <thread>

using namespace dtorch;
using namespace dtorch::testing;

namespace {

const DType f32 = DType::Float32;
const Placement R = Placement::replicate(), P = Placement::partial();
Placement S(int64_t dim) { return Placement::shard(dim); }

BufferType on(MeshRef m, std::vector<Placement> placements, Shape shape,
              DType dtype = f32) {
  return {shape, dtype, {m, placements}};
}

std::vector<double> counting(int64_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

/// layer(x [4, 6] R, w [6, 6] S(1) (rows of the linear's k)) = reduce(x w') +
/// x, tensor-parallel over one axis: slice, linear, all_reduce, add.
ProgramFunction layer(MeshRef m) {
  FunctionBuilder f("layer");
  int64_t x = f.argument(on(m, {R}, {4, 6})),
          w = f.argument(on(m, {S(1)}, {6, 6}));
  int64_t y = f.result(on(m, {R}, {4, 6}));
  int64_t part = f.arena(on(m, {S(1)}, {4, 6}));
  int64_t product = f.arena(on(m, {P}, {4, 6})),
          sum = f.arena(on(m, {R}, {4, 6}));
  f.communicate("slice", x, part, {0});
  f.launch("linear", {part, w}, product);
  f.communicate("all_reduce", product, sum, {0});
  f.launch("binary", {sum, x}, y, {{"kind", std::string("add")}});
  return f.function;
}

/// main(x on the host, w1, w2) = layer(layer(x, w1), w2), on the host.
Program twoLayers(MeshRef m) {
  Program program{{layer(m)}};
  FunctionBuilder main("main");
  BufferType host{{4, 6}, f32, Sharding::host()};
  int64_t x = main.argument(host, "x");
  int64_t w1 = main.argument(on(m, {S(1)}, {6, 6}), "w1");
  int64_t w2 = main.argument(on(m, {S(1)}, {6, 6}), "w2");
  int64_t y = main.result(host);
  int64_t a = main.arena(on(m, {R}, {4, 6})),
          b = main.arena(on(m, {R}, {4, 6}));
  int64_t c = main.arena(on(m, {R}, {4, 6}));
  main.communicate("from_host", x, a);
  main.call(program, 0, {a, w1}, {b}).modulePath = "layers.0";
  main.call(program, 0, {b, w2}, {c}).modulePath = "layers.1";
  main.communicate("to_host", c, y);
  program.functions.push_back(main.function);
  return program;
}

std::vector<double> layerReference(const std::vector<double> &x,
                                   const std::vector<double> &w) {
  std::vector<double> y = x;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 6; ++j)
      for (int k = 0; k < 6; ++k)
        y[i * 6 + j] += x[i * 6 + k] * w[j * 6 + k];
  return y;
}

struct TwoLayers {
  std::vector<double> x = counting(24), w1, w2;
  TwoLayers() {
    for (int i = 0; i < 36; ++i) {
      w1.push_back(i % 5 - 2);
      w2.push_back(i % 3 - 1);
    }
  }
  std::vector<DistTensorRef> arguments(MeshRef m) const {
    BufferType type = on(m, {S(1)}, {6, 6});
    return {hostTensor(f32, {4, 6}, x), distribute(toStorage(f32, w1), type),
            distribute(toStorage(f32, w2), type)};
  }
  std::vector<double> reference() const {
    return layerReference(layerReference(x, w1), w2);
  }
};

TEST(ExecutorTest, AFunctionCalledTwiceOnAnyNumberOfDevices) {
  TwoLayers model;
  for (int64_t k : {2, 3, 4, 8}) {
    resetCommunicationCounters();
    auto results = run(twoLayers(mesh({k})), model.arguments(mesh({k})));
    EXPECT_EQ(whole(*results[0]), model.reference()) << k << " devices";
    auto counters = communicationCounters();
    EXPECT_EQ(counters["all_reduce"].count, 2);
    EXPECT_EQ(counters["all_reduce"].bytes, 2 * 2 * (k - 1) * 24 * 4);
    EXPECT_EQ(counters["to_host"].bytes, 24 * 4);
  }
}

/// main(x) = two results on the host, both to_host of a value on the devices;
/// with `again`, the value is overwritten after the first.
Program twoResults(MeshRef m, Placement placement, bool again) {
  FunctionBuilder main("main");
  BufferType host{{4, 6}, f32, Sharding::host()};
  BufferType placed = on(m, {placement}, {4, 6});
  int64_t x = main.argument(host, "x");
  int64_t first = main.result(host), second = main.result(host);
  int64_t a = main.arena(placed), b = main.arena(placed);
  main.communicate("from_host", x, a);
  main.launch("binary", {a, a}, b, {{"kind", std::string("add")}});
  main.communicate("to_host", b, first);
  if (again)
    main.launch("binary", {a, a}, b, {{"kind", std::string("mul")}});
  main.communicate("to_host", b, second);
  return {{main.function}};
}

TEST(ExecutorTest, HostResultsOfOneValueAreTheirOwn) {
  std::vector<double> x = counting(24), sum, product;
  for (double value : x) {
    sum.push_back(value + value);
    product.push_back(value * value);
  }
  for (int64_t k : {1, 3})
    for (Placement placement : {R, S(0), S(1)})
      for (bool again : {false, true}) {
        auto results = run(twoResults(mesh({k}), placement, again),
                           {hostTensor(f32, {4, 6}, x)});
        EXPECT_EQ(whole(*results[0]), sum);
        EXPECT_EQ(whole(*results[1]), again ? product : sum);
      }
}

/// A value that to_host takes as one block is computed where it goes.
TEST(ExecutorTest, AWholeBlockIsComputedInTheHostsResult) {
  Program program = twoResults(mesh({3}), S(0), false);
  auto loaded = Executor::local().load(program);
  auto &bound = dynamic_cast<LocalProgram &>(*loaded);
  ASSERT_EQ(bound.devices.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const auto &inPlace = bound.devices[i].entry().inPlace;
    ASSERT_EQ(inPlace.size(), 1u);
    // 2, 1 and 1 of 4 rows of 24 bytes
    EXPECT_EQ(inPlace[0].byte, std::vector<int64_t>({0, 48, 72})[i]);
  }
  auto columns = Executor::local().load(twoResults(mesh({3}), S(1), false));
  for (auto &device : dynamic_cast<LocalProgram &>(*columns).devices)
    EXPECT_TRUE(device.entry().inPlace.empty());
}

TEST(ExecutorTest, ALoadedProgramRunsAgainAndAgain) {
  TwoLayers model;
  MeshRef m = mesh({2});
  auto loaded = Executor::local().load(twoLayers(m));
  for (int i = 0; i < 200; ++i) {
    model.x[0] = i % 7;
    auto results = Executor::local().run(*loaded, model.arguments(m));
    ASSERT_EQ(whole(*results[0]), model.reference());
  }
}

TEST(ExecutorTest, JitterAndReplicaChecksChangeNothing) {
  TwoLayers model;
  Environment replicas("DTORCH_CHECK_REPLICAS", "1");
  for (const char *seed : {"1", "2", "3"}) {
    Environment jitter("DTORCH_TEST_JITTER", seed);
    auto results = run(twoLayers(mesh({4})), model.arguments(mesh({4})));
    EXPECT_EQ(whole(*results[0]), model.reference());
  }
}

TEST(ExecutorTest, ReplicasThatDifferAreFound) {
  Environment replicas("DTORCH_CHECK_REPLICAS", "1");
  MeshRef m = mesh({2});
  FunctionBuilder main("main");
  int64_t x = main.argument(on(m, {R}, {3})), y = main.result(on(m, {R}, {3}));
  main.launch("unary", {x}, y, {{"kind", std::string("neg")}});
  auto input = std::make_shared<DistTensor>(DistTensor{on(m, {R}, {3}), {}});
  input->locals = {toStorage(f32, {1, 2, 3}), toStorage(f32, {1, 2, 4})};
  std::string error = errorOf([&] { run({{main.function}}, {input}); });
  EXPECT_NE(error.find("replicas differ"), std::string::npos) << error;
  EXPECT_NE(error.find("model.py:1"), std::string::npos) << error;
}

TEST(ExecutorTest, AliasesSeeTheirSource) {
  MeshRef m = mesh({2});
  FunctionBuilder main("main");
  int64_t x = main.argument(on(m, {S(0)}, {4, 6}));
  int64_t viewed = main.alias(x, on(m, {S(0)}, {24}));
  int64_t negated = main.arena(on(m, {S(0)}, {24}));
  int64_t again = main.alias(negated, on(m, {S(0)}, {4, 3, 2}));
  int64_t deeper = main.alias(again, on(m, {S(0)}, {8, 3}));
  int64_t y = main.result(on(m, {S(0)}, {8, 3}));
  main.launch("unary", {viewed}, negated, {{"kind", std::string("neg")}});
  main.copy(deeper, y);
  auto results =
      run({{main.function}},
          {distribute(toStorage(f32, counting(24)), on(m, {S(0)}, {4, 6}))});
  std::vector<double> expected = counting(24);
  for (double &value : expected)
    value = -value;
  EXPECT_EQ(whole(*results[0]), expected);
}

TEST(ExecutorTest, ArgumentsAreNeverWritten) {
  // The buffer of a from_host may lie in the argument itself, but not if it is
  // written again.
  MeshRef m = mesh({2});
  BufferType host{{4}, f32, Sharding::host()}, device = on(m, {R}, {4});
  FunctionBuilder f("main");
  int64_t x = f.argument(host), z = f.argument(device), a = f.arena(device);
  int64_t y = f.result(host);
  f.communicate("from_host", x, a);
  f.launch("unary", {z}, a, {{"kind", std::string("neg")}});
  f.communicate("to_host", a, y);
  DistTensorRef argument = hostTensor(f32, {4}, {1, 2, 3, 4});
  auto results =
      run({{f.function}},
          {argument, distribute(toStorage(f32, {5, 6, 7, 8}), device)});
  EXPECT_EQ(whole(*results[0]), (std::vector<double>{-5, -6, -7, -8}));
  EXPECT_EQ(whole(*argument), (std::vector<double>{1, 2, 3, 4}));
}

TEST(ExecutorTest, HostComputesBeforeDevicesReadAndAfterTheyWrote) {
  // host: b = -a; mesh: c = b + b; host: d = -c. Values that are not arguments
  // must be waited for.
  MeshRef m = mesh({2, 2});
  BufferType host{{5, 3}, f32, Sharding::host()},
      there = on(m, {S(0), S(1)}, {5, 3});
  FunctionBuilder main("main");
  int64_t a = main.argument(host), b = main.arena(host), c = main.arena(there);
  int64_t d = main.arena(there), e = main.arena(host), y = main.result(host);
  Attrs neg{{"kind", std::string("neg")}};
  main.launch("unary", {a}, b, neg);
  main.communicate("from_host", b, c);
  main.launch("binary", {c, c}, d, {{"kind", std::string("add")}});
  main.communicate("to_host", d, e);
  main.launch("unary", {e}, y, neg);
  for (const char *seed : {"4", "5"}) {
    Environment jitter("DTORCH_TEST_JITTER", seed);
    auto results =
        run({{main.function}}, {hostTensor(f32, {5, 3}, counting(15))});
    std::vector<double> expected = counting(15);
    for (double &value : expected)
      value *= 2;
    EXPECT_EQ(whole(*results[0]), expected);
  }
}

TEST(ExecutorTest, HostValuesComputedInACalledFunction) {
  // One function called with an argument of the entry and with a computed
  // value.
  MeshRef m = mesh({2});
  BufferType host{{4}, f32, Sharding::host()};
  FunctionBuilder f("place");
  int64_t in = f.argument(host), placed = f.arena(on(m, {R}, {4}));
  int64_t out = f.result(on(m, {R}, {4}));
  f.communicate("from_host", in, placed);
  f.launch("unary", {placed}, out, {{"kind", std::string("square")}});
  Program program{{f.function}};
  FunctionBuilder main("main");
  int64_t x = main.argument(host), n = main.arena(host);
  int64_t a = main.result(on(m, {R}, {4})), b = main.result(on(m, {R}, {4}));
  main.call(program, 0, {x}, {a});
  main.launch("binary", {x, x}, n, {{"kind", std::string("add")}});
  main.call(program, 0, {n}, {b});
  program.functions.push_back(main.function);
  auto results = run(program, {hostTensor(f32, {4}, {1, 2, 3, 4})});
  EXPECT_EQ(whole(*results[0]), (std::vector<double>{1, 4, 9, 16}));
  EXPECT_EQ(whole(*results[1]), (std::vector<double>{4, 16, 36, 64}));
}

TEST(ExecutorTest, TwoMeshesInOneProgram) {
  // Devices 0, 1 negate; devices 2, 3 square; 4 computes alone on a mesh
  // without axes.
  MeshRef left = mesh({2});
  MeshRef right = DeviceMesh::regular("cpu", {"x"}, {2}, 2);
  MeshRef one = DeviceMesh::regular("cpu", {}, {}, 4);
  BufferType host{{5}, f32, Sharding::host()};
  FunctionBuilder main("main");
  int64_t x = main.argument(host);
  std::vector<BufferType> places = {on(left, {S(0)}, {5}),
                                    on(right, {S(0)}, {5}), on(one, {}, {5})};
  const char *kinds[] = {"neg", "square", "abs"};
  for (int i = 0; i < 3; ++i) {
    int64_t placed = main.arena(places[i]), done = main.arena(places[i]);
    main.communicate("from_host", x, placed);
    main.launch("unary", {placed}, done, {{"kind", std::string(kinds[i])}});
    main.communicate("to_host", done, main.result(host));
  }
  auto results =
      run({{main.function}}, {hostTensor(f32, {5}, {1, -2, 3, -4, 5})});
  EXPECT_EQ(whole(*results[0]), (std::vector<double>{-1, 2, -3, 4, -5}));
  EXPECT_EQ(whole(*results[1]), (std::vector<double>{1, 4, 9, 16, 25}));
  EXPECT_EQ(whole(*results[2]), (std::vector<double>{1, 2, 3, 4, 5}));
}

TEST(ExecutorTest, HostOnlyProgramsNeedNoDevice) {
  BufferType host{{2}, f32, Sharding::host()};
  FunctionBuilder main("main");
  int64_t x = main.argument(host);
  main.launch("unary", {x}, main.result(host), {{"kind", std::string("exp")}});
  auto results = run({{main.function}}, {hostTensor(f32, {2}, {0, 1})});
  EXPECT_EQ(whole(*results[0])[0], 1.0);
  EXPECT_NEAR(whole(*results[0])[1], 2.718281828, 1e-6);
}

TEST(ExecutorTest, ReplicatedResultsKeepOneStorage) {
  MeshRef m = mesh({2, 2});
  FunctionBuilder main("main");
  int64_t x = main.argument(on(m, {R, S(0)}, {4}));
  main.launch("unary", {x}, main.result(on(m, {R, S(0)}, {4})),
              {{"kind", std::string("neg")}});
  auto results =
      run({{main.function}},
          {distribute(toStorage(f32, counting(4)), on(m, {R, S(0)}, {4}))});
  const auto &locals = results[0]->locals;
  EXPECT_EQ(locals[0], locals[2]);
  EXPECT_EQ(locals[1], locals[3]);
  EXPECT_NE(locals[0], locals[1]);
}

/// embedding then all_reduce on four devices; index 70 of 61 fails everywhere.
Program lookUp(MeshRef m) {
  FunctionBuilder main("main");
  int64_t w = main.argument(on(m, {S(0)}, {61, 2}));
  int64_t i = main.argument(on(m, {R}, {3}, DType::Int64));
  int64_t part = main.arena(on(m, {P}, {3, 2}));
  main.launch("embedding", {w, i}, part);
  main.communicate("all_reduce", part, main.result(on(m, {R}, {3, 2})), {0});
  return {{main.function}};
}

std::vector<DistTensorRef> lookUpArguments(MeshRef m,
                                           std::vector<double> indices,
                                           int64_t wrongDevice = -1) {
  auto tensor = std::make_shared<DistTensor>(
      DistTensor{on(m, {R}, {3}, DType::Int64), {}});
  for (int64_t d = 0; d < m->numDevices(); ++d) {
    std::vector<double> own = indices;
    if (d == wrongDevice)
      own[1] = 70;
    tensor->locals.push_back(toStorage(DType::Int64, own));
  }
  return {distribute(toStorage(f32, counting(122)), on(m, {S(0)}, {61, 2})),
          tensor};
}

TEST(ExecutorTest, AFailingKernelOnOneDeviceEndsTheRunAtOnce) {
  MeshRef m = mesh({4});
  auto loaded = Executor::local().load(lookUp(m));
  for (int64_t device = 0; device < 4; ++device) {
    auto start = std::chrono::steady_clock::now();
    try {
      Executor::local().run(*loaded, lookUpArguments(m, {0, 5, 60}, device));
      FAIL() << "no error";
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Index);
      std::string text = error.what();
      EXPECT_EQ(
          text.find(
              "model.py:1: error: embedding: index 70 is outside [0, 61)"),
          0u)
          << text;
      EXPECT_NE(text.find("device " + std::to_string(device)),
                std::string::npos);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(2));
  }
  // The same program runs well afterwards.
  auto results = Executor::local().run(*loaded, lookUpArguments(m, {0, 5, 60}));
  EXPECT_EQ(whole(*results[0]), (std::vector<double>{0, 1, 10, 11, 120, 121}));
}

/// A kernel that sleeps on the device that holds the end of the tensor.
PreparedKernel prepareSleep(const KernelSpec &spec) {
  bool last = spec.outputs[0].box.offset[0] > 0;
  return [last](const void *const *, void *const *) {
    if (last)
      std::this_thread::sleep_for(std::chrono::seconds(2));
  };
}
DTORCH_CPU_KERNEL("test_sleep", prepareSleep);

TEST(ExecutorTest, WaitsAreBounded) {
  MeshRef m = mesh({2});
  FunctionBuilder main("main");
  int64_t x = main.argument(on(m, {S(0)}, {4})),
          slept = main.arena(on(m, {S(0)}, {4}));
  main.launch("test_sleep", {x}, slept);
  main.communicate("all_gather", slept, main.result(on(m, {R}, {4})), {0});
  Environment timeout("DTORCH_TIMEOUT", "1");
  std::string error = errorOf([&] {
    run({{main.function}},
        {distribute(toStorage(f32, counting(4)), on(m, {S(0)}, {4}))});
  });
  EXPECT_NE(error.find("all_gather #1 on device 0 at model.py:2"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("waited 1"), std::string::npos) << error;
  EXPECT_NE(error.find("for device 1"), std::string::npos) << error;
  EXPECT_NE(error.find("DTORCH_TIMEOUT"), std::string::npos) << error;
}

PreparedKernel prepareFail(const KernelSpec &) {
  return [](const void *const *, void *const *) { throw std::bad_alloc(); };
}
DTORCH_CPU_KERNEL("test_fail", prepareFail);

TEST(ExecutorTest, ForeignExceptionsBecomeErrors) {
  MeshRef m = mesh({2});
  FunctionBuilder main("main");
  int64_t x = main.argument(on(m, {S(0)}, {4}));
  main.launch("test_fail", {x}, main.result(on(m, {S(0)}, {4})));
  EXPECT_NE(errorOf([&] {
              run({{main.function}}, {distribute(toStorage(f32, counting(4)),
                                                 on(m, {S(0)}, {4}))});
            }).find("bad_alloc"),
            std::string::npos);
}

TEST(ExecutorTest, AHostErrorEndsDevicesThatWaitForTheHost) {
  MeshRef m = mesh({2});
  BufferType host{{4}, f32, Sharding::host()};
  FunctionBuilder main("main");
  int64_t x = main.argument(host), y = main.arena(host),
          z = main.arena(on(m, {R}, {4}));
  main.launch("test_fail", {x}, y);
  main.communicate("from_host", y, z);
  main.launch("unary", {z}, main.result(on(m, {R}, {4})),
              {{"kind", std::string("neg")}});
  std::string error = errorOf(
      [&] { run({{main.function}}, {hostTensor(f32, {4}, counting(4))}); });
  EXPECT_NE(error.find("on the host"), std::string::npos) << error;
}

TEST(ExecutorTest, ArgumentsAreChecked) {
  MeshRef m = mesh({2});
  TwoLayers model;
  auto loaded = Executor::local().load(twoLayers(m));
  auto arguments = model.arguments(m);
  auto fails = [&](std::vector<DistTensorRef> list) {
    return errorOf([&] { Executor::local().run(*loaded, list); });
  };
  EXPECT_NE(fails({arguments[0], arguments[1]}).find("3 arguments"),
            std::string::npos);
  std::string error = fails({arguments[0], arguments[0], arguments[2]});
  EXPECT_NE(error.find("argument 1 'w1'"), std::string::npos) << error;
  EXPECT_NE(fails({arguments[0], nullptr, arguments[2]}).find("missing"),
            std::string::npos);
  auto broken = std::make_shared<DistTensor>(*arguments[1]);
  broken->locals[1] = Storage::allocate(4);
  EXPECT_NE(fails({arguments[0], broken, arguments[2]}).find("part 1"),
            std::string::npos);
  // Another spelling of the same layout is welcome.
  auto unit = std::make_shared<DistTensor>(*arguments[1]);
  unit->type.sharding.placements[0].unit = 3;
  EXPECT_EQ(fails({arguments[0], unit, arguments[2]}), "");
}

TEST(ExecutorTest, LimitsFromTheEnvironmentAreChecked) {
  TwoLayers model;
  MeshRef m = mesh({2});
  for (const char *text : {"0", "-1", "x", "1.5", "9223372036854775807"}) {
    Environment timeout("DTORCH_TIMEOUT", text);
    EXPECT_EQ(errorOf([&] { run(twoLayers(m), model.arguments(m)); }),
              std::string("DTORCH_TIMEOUT: must be a number from 1 to 10^9, "
                          "got '") +
                  text + "'");
  }
  Environment timeout("DTORCH_TIMEOUT", "1000000000");
  EXPECT_EQ(whole(*run(twoLayers(m), model.arguments(m))[0]),
            model.reference());
}

TEST(ExecutorTest, AMeshLargerThanTheWorldNamesTheVariable) {
  std::string error =
      errorOf([] { Executor::local().load(twoLayers(mesh({9}))); });
  EXPECT_NE(error.find("DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("needs 9 devices, found 8"), std::string::npos) << error;
  Environment more("DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE", "9");
  TwoLayers model;
  auto results = run(twoLayers(mesh({9})), model.arguments(mesh({9})));
  EXPECT_EQ(whole(*results[0]), model.reference());
}

TEST(ExecutorDeathTest, AForkedChildGetsAnErrorAndNoHang) {
  ::testing::FLAGS_gtest_death_test_style = "fast"; // a plain fork
  TwoLayers model;
  MeshRef m = mesh({2});
  auto loaded = Executor::local().load(twoLayers(m));
  Executor::local().run(*loaded, model.arguments(m));
  EXPECT_EXIT(
      {
        std::string error = errorOf(
            [&] { Executor::local().run(*loaded, model.arguments(m)); });
        std::exit(error.find("forked") != std::string::npos ? 7 : 8);
      },
      ::testing::ExitedWithCode(7), "");
}

} // namespace
