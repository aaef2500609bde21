//===- KernelTest.cpp - kernels against plain loops -----------------------===//
#include "Testing.h"

#include <cmath>
#include <functional>
#include <random>

using namespace dtorch;
using namespace dtorch::testing;

namespace {

Attrs kindOf(const std::string &name) { return {{"kind", name}}; }

/// Relative error that one rounding to the type may make.
double precision(DType dtype) {
  switch (dtype) {
  case DType::Float16:
    return 1.0 / 2048;
  case DType::BFloat16:
    return 1.0 / 256;
  case DType::Float32:
    return 3e-7; // 2 ulp and the rounding of the result
  case DType::Float64:
    return 1e-15;
  default:
    return 0;
  }
}

void expectClose(const std::vector<double> &got,
                 const std::vector<double> &want, double relative,
                 const std::string &what, double absolute = 0) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i]))
      ASSERT_TRUE(std::isnan(got[i])) << what << " " << i;
    else if (std::isinf(want[i]))
      ASSERT_EQ(got[i], want[i]) << what << " " << i;
    else if (want[i] == 0)
      ASSERT_NEAR(got[i], want[i], absolute) << what << " " << i;
    else
      ASSERT_LE(std::abs(got[i] - want[i]),
                relative * std::abs(want[i]) + absolute)
          << what << " " << i << ": " << got[i] << ", want " << want[i];
  }
}

std::vector<double> drawn(int64_t n, int seed, double scale = 1.0 / 16) {
  std::mt19937 random(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back((static_cast<int>(random() % 129) - 64) * scale);
  return values;
}

std::map<std::string, std::function<double(double)>> unaryFunctions() {
  return {
      {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::abs(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"square", [](double x) { return x * x; }},
      {"reciprocal", [](double x) { return 1 / x; }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"relu", [](double x) { return x < 0 ? 0 : x; }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"gelu", [](double x) { return x * 0.5 * std::erfc(-x * M_SQRT1_2); }},
      {"floor", [](double x) { return std::floor(x); }}};
}

TEST(KernelTest, UnaryFunctions) {
  std::vector<double> values = drawn(999, 1);
  values.push_back(NAN);
  for (const auto &[kind, f] : unaryFunctions())
    for (DType dtype : floatDTypes) {
      std::vector<double> want;
      for (double x : values)
        want.push_back(f(x));
      // gelu cancels on the far left.
      double absolute = kind == "gelu" ? 1e-6 : 0;
      auto got = runKernel("unary", {Array(dtype, {1000}, values)},
                           kindOf(kind), dtype, {1000});
      expectClose(got, want, precision(dtype) * 1.5,
                  kind + std::string(toString(dtype)),
                  dtype == DType::Float64 ? absolute / 1e9 : absolute);
    }
}

TEST(KernelTest, UnaryOfIntegers) {
  for (DType dtype : {DType::Int32, DType::Int64}) {
    Array x(dtype, {4}, {-3, 0, 2, 7});
    EXPECT_EQ(runKernel("unary", {x}, kindOf("square"), dtype, {4}),
              (std::vector<double>{9, 0, 4, 49}));
    EXPECT_EQ(runKernel("unary", {x}, kindOf("neg"), dtype, {4}),
              (std::vector<double>{3, 0, -2, -7}));
    auto got = runKernel("unary", {x}, kindOf("sigmoid"), DType::Float32, {4});
    expectClose(got, {0.0474258732, 0.5, 0.880797078, 0.999088949}, 3e-7,
                "sigmoid");
  }
  EXPECT_NE(errorOf([] {
              runKernel("unary", {Array(DType::Bool, {1}, {1})}, kindOf("neg"),
                        DType::Bool, {1});
            }).find("no kernel for bool"),
            std::string::npos);
}

TEST(KernelTest, ExpIsAccurateOverTheWholeRange) {
  std::vector<double> values;
  for (double x = -103; x < 88.7; x += 0.00371)
    values.push_back(static_cast<float>(x));
  int64_t n = values.size();
  auto got = runKernel("unary", {Array(DType::Float32, {n}, values)},
                       kindOf("exp"), DType::Float32, {n});
  for (int64_t i = 0; i < n; ++i) {
    double want = std::exp(values[i]);
    double ulp = std::nextafter(static_cast<float>(want), INFINITY) -
                 static_cast<float>(want);
    ASSERT_LE(std::abs(got[i] - want), 2 * ulp) << values[i];
  }
  auto edges = runKernel(
      "unary",
      {Array(DType::Float32, {5}, {INFINITY, -INFINITY, 0, 100, -110})},
      kindOf("exp"), DType::Float32, {5});
  EXPECT_EQ(edges, (std::vector<double>{INFINITY, 0, 1, INFINITY, 0}));
}

std::map<std::string, std::function<double(double, double)>> binaryFunctions() {
  return {{"add", [](double a, double b) { return a + b; }},
          {"sub", [](double a, double b) { return a - b; }},
          {"mul", [](double a, double b) { return a * b; }},
          {"div", [](double a, double b) { return a / b; }},
          {"pow", [](double a, double b) { return std::pow(a, b); }},
          {"maximum", [](double a, double b) { return a > b ? a : b; }},
          {"minimum", [](double a, double b) { return a < b ? a : b; }},
          {"eq", [](double a, double b) { return a == b; }},
          {"ne", [](double a, double b) { return a != b; }},
          {"lt", [](double a, double b) { return a < b; }},
          {"le", [](double a, double b) { return a <= b; }},
          {"gt", [](double a, double b) { return a > b; }},
          {"ge", [](double a, double b) { return a >= b; }},
          {"logical_and", [](double a, double b) { return a && b; }},
          {"logical_or", [](double a, double b) { return a || b; }}};
}

bool givesBool(const std::string &kind) {
  return kind.size() == 2 || kind.starts_with("logical");
}

/// Right-aligned broadcast read.
double readAt(const Array &x, Shape index) {
  int64_t at = 0;
  size_t pad = index.size() - x.shape.size();
  for (size_t d = 0; d < x.shape.size(); ++d)
    at = at * x.shape[d] + (x.shape[d] == 1 ? 0 : index[pad + d]);
  return x.values[at];
}

template <typename F> void forEachIndex(const Shape &shape, F f) {
  int64_t count = numElements(shape);
  for (int64_t i = 0; i < count; ++i) {
    Shape index(shape.size());
    int64_t rest = i;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      index[d] = rest % shape[d];
    f(index);
  }
}

TEST(KernelTest, BinaryFunctionsBroadcast) {
  struct Case {
    Shape a, b, result;
  };
  std::vector<Case> cases = {{{3, 700}, {3, 700}, {3, 700}},
                             {{3, 4}, {}, {3, 4}},
                             {{}, {3, 4}, {3, 4}},
                             {{}, {}, {}},
                             {{2, 3, 4}, {3, 1}, {2, 3, 4}},
                             {{2, 1, 5}, {1, 3, 1}, {2, 3, 5}},
                             {{4, 1}, {1, 5}, {4, 5}},
                             {{0, 3}, {3}, {0, 3}},
                             {{2, 3, 1, 4}, {2, 1, 5, 4}, {2, 3, 5, 4}}};
  for (const auto &[kind, f] : binaryFunctions())
    for (DType dtype : allDTypes) {
      bool integer = !isFloating(dtype);
      if (dtype == DType::Bool && (kind == "sub" || kind == "pow"))
        continue;
      DType result = givesBool(kind)            ? DType::Bool
                     : kind == "div" && integer ? DType::Float32
                                                : dtype;
      for (const Case &c : cases) {
        auto values = [&](const Shape &shape, int seed) {
          std::vector<double> list =
              drawn(numElements(shape), seed, integer ? 1 : 0.0625);
          for (double &x : list)
            x = dtype == DType::Bool       ? x > 0
                : kind == "pow" && integer ? std::abs(x / 20)
                                           : x;
          if (integer)
            for (double &x : list)
              x = std::trunc(x);
          return Array(dtype, shape, list);
        };
        Array a = values(c.a, 3), b = values(c.b, 4);
        std::vector<double> want;
        forEachIndex(c.result, [&](const Shape &index) {
          double value = f(readAt(a, index), readAt(b, index));
          want.push_back(result == DType::Bool ? value != 0 : value);
        });
        auto got = runKernel("binary", {a, b}, kindOf(kind), result, c.result);
        // Half the smallest float16 above 0.
        expectClose(got, want, precision(result),
                    kind + std::string(toString(dtype)),
                    result == DType::Float16 ? 3e-8 : 0);
      }
    }
}

TEST(KernelTest, SharedSingletonsAreNotBroadcastLocally) {
  // A shard with one row of a global dim of two is not a broadcast row.
  Array a = Array(DType::Float32, {1, 3}, {1, 2, 3}).partOf({2, 3}, {1, 0});
  Array b(DType::Float32, {1, 3}, {10, 20, 30}); // a global row
  Array result = Array(DType::Float32, {1, 3}, {}).partOf({2, 3}, {1, 0});
  EXPECT_EQ(runKernel("binary", {a, b}, kindOf("add"), result),
            (std::vector<double>{11, 22, 33}));
}

TEST(KernelTest, MaximumPropagatesNaN) {
  Array a(DType::Float32, {3}, {NAN, 1, 2}),
      b(DType::Float32, {3}, {1, NAN, 3});
  for (const char *kind : {"maximum", "minimum"}) {
    auto got = runKernel("binary", {a, b}, kindOf(kind), DType::Float32, {3});
    EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1])) << kind;
  }
}

TEST(KernelTest, IntegerPowers) {
  Array a(DType::Int64, {5}, {2, -3, 1, -1, 7}),
      b(DType::Int64, {5}, {10, 3, -5, -3, -1});
  EXPECT_EQ(runKernel("binary", {a, b}, kindOf("pow"), DType::Int64, {5}),
            (std::vector<double>{1024, -27, 1, -1, 0}));
}

TEST(KernelTest, CastsBetweenAllTypes) {
  std::vector<double> values = {0, 1, 2, 3.5, 100, 0.25};
  for (DType from : allDTypes)
    for (DType to : allDTypes) {
      Array x(from, {6}, values);
      auto held = toValues(from, toStorage(from, values)->data(), 6);
      for (double &value : held)
        value = to == DType::Bool ? value != 0
                : isFloating(to)  ? value
                                  : std::trunc(value);
      EXPECT_EQ(runKernel("cast", {x}, {}, to, {6}), held)
          << toString(from) << " to " << toString(to);
    }
}

TEST(KernelTest, NarrowingRoundsToNearestEven) {
  // 1 + 2^-8 lies between two bfloat16 neighbours of 1; so does 1 + 3 * 2^-8.
  Array x(DType::Float32, {4}, {1 + 1.0 / 256, 1 + 3.0 / 256, NAN, INFINITY});
  auto got = runKernel("cast", {x}, {}, DType::BFloat16, {4});
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 1 + 4.0 / 256);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], INFINITY);
}

TEST(KernelTest, Linear) {
  for (DType dtype : {DType::Float16, DType::BFloat16, DType::Float32,
                      DType::Float64, DType::Int32, DType::Int64})
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                           {3, 5, 7},
                           {1, 300, 40},
                           {37, 257, 96},
                           {2, 4, 0},
                           {0, 4, 3},
                           {2, 0, 3}}) {
      bool integer = !isFloating(dtype);
      Array x(dtype, {1, m, k}, drawn(m * k, 5, integer ? 1 : 0.125));
      Array w(dtype, {n, k}, drawn(n * k, 6, integer ? 1 : 0.125));
      std::vector<double> want;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t p = 0; p < k; ++p)
            sum += x.values[i * k + p] * w.values[j * k + p];
          want.push_back(sum);
        }
      expectClose(runKernel("linear", {x, w}, {}, dtype, {1, m, n}), want,
                  precision(dtype), std::string(toString(dtype)), 1e-9);
    }
}

TEST(KernelTest, Matmul) {
  struct Case {
    Shape a, b, result;
  };
  std::vector<Case> cases = {{{3, 4}, {4, 5}, {3, 5}},
                             {{2, 3, 4}, {4, 5}, {2, 3, 5}},
                             {{3, 4}, {2, 4, 5}, {2, 3, 5}},
                             {{2, 1, 3, 4}, {1, 6, 4, 2}, {2, 6, 3, 2}},
                             {{2, 1, 3, 4}, {1, 1, 4, 2}, {2, 1, 3, 2}},
                             {{2, 3, 0}, {0, 2}, {2, 3, 2}},
                             {{0, 3, 4}, {4, 2}, {0, 3, 2}}};
  for (DType dtype : {DType::Float16, DType::BFloat16, DType::Float32,
                      DType::Float64, DType::Int32, DType::Int64})
    for (const Case &c : cases) {
      double scale = isFloating(dtype) ? 0.125 : 1;
      Array a(dtype, c.a, drawn(numElements(c.a), 7, scale));
      Array b(dtype, c.b, drawn(numElements(c.b), 8, scale));
      std::vector<double> want;
      size_t rank = c.result.size();
      forEachIndex(c.result, [&](const Shape &index) {
        double sum = 0;
        for (int64_t p = 0; p < c.a.back(); ++p) {
          Shape left = index, right = index;
          left[rank - 1] = right[rank - 2] = p;
          sum += readAt(a, left) * readAt(b, right);
        }
        want.push_back(sum);
      });
      expectClose(runKernel("matmul", {a, b}, {}, dtype, c.result), want,
                  precision(dtype), std::string(toString(dtype)), 1e-9);
    }
}

TEST(KernelTest, EmbeddingOfAVocabularyShard) {
  for (DType index : {DType::Int32, DType::Int64}) {
    Array w = Array(DType::BFloat16, {2, 3}, {1, 2, 3, 4, 5, 6})
                  .partOf({5, 3}, {2, 0});
    Array i(index, {2, 2}, {0, 2, 3, 4});
    EXPECT_EQ(runKernel("embedding", {w, i}, {}, DType::BFloat16, {2, 2, 3}),
              (std::vector<double>{0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0}));
    for (double wrong : {-1, 5})
      EXPECT_EQ(errorOf([&, wrong = wrong] {
                  runKernel("embedding", {w, Array(index, {1}, {wrong})}, {},
                            DType::BFloat16, {1, 3});
                }),
                "embedding: index " + std::to_string(static_cast<int>(wrong)) +
                    " is outside [0, 5)");
  }
}

TEST(KernelTest, Softmax) {
  for (DType dtype : floatDTypes)
    for (Shape shape :
         {Shape{3, 5}, Shape{2, 70, 3}, Shape{4, 1000}, Shape{0, 4}, Shape{}})
      for (int64_t dim = 0; dim < std::max<int64_t>(shape.size(), 1); ++dim) {
        Array x(dtype, shape, drawn(numElements(shape), 9, 0.25));
        std::vector<double> want;
        forEachIndex(shape, [&](const Shape &index) {
          double sum = 0, own = std::exp(readAt(x, index));
          for (int64_t j = 0; j < (shape.empty() ? 1 : shape[dim]); ++j) {
            Shape other = index;
            if (!shape.empty())
              other[dim] = j;
            sum += std::exp(readAt(x, other));
          }
          want.push_back(own / sum);
        });
        // The smallest float16 is 6e-8.
        expectClose(runKernel("softmax", {x}, {{"dim", dim}}, dtype, shape),
                    want, precision(dtype) * 4, std::string(toString(dtype)),
                    dtype == DType::Float16 ? 6e-8 : 0);
      }
  // Large values: no overflow. All -inf: NaN, as in PyTorch.
  auto big =
      runKernel("softmax", {Array(DType::Float32, {3}, {500, 501, -500})},
                {{"dim", int64_t(0)}}, DType::Float32, {3});
  expectClose(big, {0.2689414214, 0.7310585786, 0}, 1e-6, "big");
  auto none = runKernel("softmax", {Array(DType::Float32, {1}, {-INFINITY})},
                        {{"dim", int64_t(0)}}, DType::Float32, {1});
  EXPECT_TRUE(std::isnan(none[0]));
}

TEST(KernelTest, RMSNorm) {
  for (DType dtype : floatDTypes)
    for (Shape dims : {Shape{2}, Shape{1, 2}, Shape{0}, Shape{0, 2}}) {
      Shape shape{3, 4, 65};
      Array x(dtype, shape, drawn(3 * 4 * 65, 10));
      std::vector<double> want;
      forEachIndex(shape, [&](const Shape &index) {
        double sum = 0;
        int64_t count = 0;
        forEachIndex(shape, [&](const Shape &other) {
          for (int64_t d = 0; d < 3; ++d)
            if (std::find(dims.begin(), dims.end(), d) == dims.end() &&
                index[d] != other[d])
              return;
          sum += readAt(x, other) * readAt(x, other);
          ++count;
        });
        want.push_back(readAt(x, index) / std::sqrt(sum / count + 0.125));
      });
      auto got = runKernel("rms_norm", {x, Array(DType::Float32, {}, {0.125})},
                           {{"dims", dims}}, dtype, shape);
      expectClose(got, want, precision(dtype) * 2,
                  std::string(toString(dtype)));
    }
}

TEST(KernelTest, Reduce) {
  Shape shape{3, 4, 5, 2};
  for (const char *kind : {"sum", "amax", "amin"})
    for (DType dtype : allDTypes)
      for (Shape dims : {Shape{0}, Shape{3}, Shape{1, 2}, Shape{0, 2},
                         Shape{1, 3}, Shape{0, 1, 2, 3}}) {
        Array x(dtype, shape, drawn(120, 11, isFloating(dtype) ? 0.0625 : 1));
        if (dtype == DType::Bool)
          for (double &value : x.values)
            value = value > 60;
        Shape kept = shape;
        for (int64_t d : dims)
          kept[d] = 1;
        std::vector<double> want;
        forEachIndex(kept, [&](const Shape &index) {
          double value = NAN;
          forEachIndex(shape, [&](const Shape &other) {
            for (size_t d = 0; d < 4; ++d)
              if (kept[d] != 1 && index[d] != other[d])
                return;
            double element = readAt(x, other);
            if (std::isnan(value))
              value = element;
            else
              value = std::string(kind) == "sum"    ? value + element
                      : std::string(kind) == "amax" ? std::max(value, element)
                                                    : std::min(value, element);
          });
          want.push_back(dtype == DType::Bool ? value != 0 : value);
        });
        auto got = runKernel(
            "reduce", {x},
            {{"kind", std::string(kind)}, {"dims", dims}, {"keepdim", true}},
            dtype, kept);
        expectClose(got, want, precision(dtype),
                    kind + std::string(toString(dtype)), 1e-6);
      }
}

TEST(KernelTest, SumsAreExactToTheLastBit) {
  // Large terms that cancel leave the small ones.
  std::vector<double> values;
  for (int i = 0; i < 30000; ++i)
    values.push_back(i % 3 == 0 ? 1e6 : i % 3 == 1 ? -1e6 : 0.125);
  auto got = runKernel(
      "reduce", {Array(DType::Float32, {30000}, values)},
      {{"kind", std::string("sum")}, {"dims", Shape{0}}, {"keepdim", false}},
      DType::Float32, {});
  EXPECT_EQ(got[0], 1250);
}

TEST(KernelTest, ReductionsOfNothingGiveTheIdentity) {
  auto reduce = [](const char *kind, DType dtype, Shape shape, Shape dims,
                   Shape result) {
    return runKernel(
        "reduce", {Array(dtype, shape, {})},
        {{"kind", std::string(kind)}, {"dims", dims}, {"keepdim", false}},
        dtype, result);
  };
  for (Shape dims : {Shape{1}, Shape{0, 1}}) {
    Shape result = dims.size() == 1 ? Shape{2} : Shape{};
    for (double value : reduce("sum", DType::Float32, {2, 0}, dims, result))
      EXPECT_EQ(value, 0);
    for (double value : reduce("amax", DType::BFloat16, {2, 0}, dims, result))
      EXPECT_EQ(value, -INFINITY);
    for (double value : reduce("amin", DType::Int32, {2, 0}, dims, result))
      EXPECT_EQ(value, 2147483647);
  }
  EXPECT_EQ(reduce("amax", DType::Float64, {0, 2}, {0}, {2}),
            (std::vector<double>{-INFINITY, -INFINITY}));
  EXPECT_TRUE(reduce("sum", DType::Float32, {2, 0}, {0}, {0}).empty());
}

TEST(KernelTest, MaximumOfARowPropagatesNaN) {
  for (int at : {0, 17, 40}) {
    std::vector<double> values = drawn(41, 12);
    values[at] = NAN;
    for (Shape shape : {Shape{41, 1}, Shape{1, 41}}) {
      auto got = runKernel("reduce", {Array(DType::Float32, shape, values)},
                           {{"kind", std::string("amax")},
                            {"dims", Shape{0, 1}},
                            {"keepdim", false}},
                           DType::Float32, {});
      EXPECT_TRUE(std::isnan(got[0]));
    }
  }
}

TEST(KernelTest, Movement) {
  std::vector<double> values(24);
  for (int i = 0; i < 24; ++i)
    values[i] = i;
  for (DType dtype : {DType::Float16, DType::Float32, DType::Int64}) {
    Array x(dtype, {2, 3, 4}, values);
    EXPECT_EQ(runKernel("view", {x}, {{"shape", Shape{6, 4}}}, dtype, {6, 4}),
              values);
    std::vector<double> want;
    forEachIndex({4, 2, 3}, [&](const Shape &i) {
      want.push_back(readAt(x, {i[1], i[2], i[0]}));
    });
    EXPECT_EQ(
        runKernel("permute", {x}, {{"dims", Shape{2, 0, 1}}}, dtype, {4, 2, 3}),
        want);
    want.clear();
    forEachIndex({2, 2, 3, 4}, [&](const Shape &i) {
      want.push_back(readAt(x, {i[1], i[2], i[3]}));
    });
    EXPECT_EQ(runKernel("expand", {x}, {{"shape", Shape{2, 2, 3, 4}}}, dtype,
                        {2, 2, 3, 4}),
              want);
    want.clear();
    forEachIndex({2, 2, 2}, [&](const Shape &i) {
      want.push_back(readAt(x, {i[0], 1 + i[1], 3 * i[2]}));
    });
    EXPECT_EQ(runKernel("slice", {x},
                        {{"starts", Shape{0, 1, 0}},
                         {"stops", Shape{2, 3, 4}},
                         {"steps", Shape{1, 1, 3}}},
                        dtype, {2, 2, 2}),
              want);
    Array y(dtype, {2, 1, 4}, {90, 91, 92, 93, 94, 95, 96, 97});
    want.clear();
    forEachIndex({2, 4, 4}, [&](const Shape &i) {
      want.push_back(i[1] < 3 ? readAt(x, i) : readAt(y, {i[0], 0, i[2]}));
    });
    EXPECT_EQ(runKernel("cat", {x, y}, {{"dim", int64_t(1)}}, dtype, {2, 4, 4}),
              want);
  }
}

TEST(KernelTest, SlicesKeepShardedDimsWhole) {
  // Rows [1, 3) of 3 on this device; column 2 is taken.
  Array x = Array(DType::Float32, {2, 4}, {4, 5, 6, 7, 8, 9, 10, 11})
                .partOf({3, 4}, {1, 0});
  Array result = Array(DType::Float32, {2, 1}, {}).partOf({3, 1}, {1, 0});
  Attrs attrs{
      {"starts", Shape{0, 2}}, {"stops", Shape{3, 3}}, {"steps", Shape{1, 1}}};
  EXPECT_EQ(runKernel("slice", {x}, attrs, result),
            (std::vector<double>{6, 10}));
  attrs.set("starts", Shape{1, 2});
  EXPECT_NE(errorOf([&] { runKernel("slice", {x}, attrs, result); }), "");
}

TEST(KernelTest, ArangeTakesPositionsFromItsBox) {
  Array result = Array(DType::Float32, {3}, {}).partOf({7}, {4});
  EXPECT_EQ(
      runKernel("arange",
                {Array(DType::Int64, {}, {10}), Array(DType::Int64, {}, {-2})},
                {{"size", int64_t(7)}, {"dtype", std::string("float32")}},
                result),
      (std::vector<double>{2, 0, -2}));
  EXPECT_EQ(runKernel("arange",
                      {Array(DType::Float64, {}, {0.5}),
                       Array(DType::Float64, {}, {0.25})},
                      {{"size", int64_t(7)}, {"dtype", std::string("float32")}},
                      result),
            (std::vector<double>{1.5, 1.75, 2}));
}

TEST(KernelTest, FullConvertsItsValue) {
  for (DType from : {DType::Float64, DType::Int64, DType::Bool})
    for (DType to : allDTypes)
      EXPECT_EQ(runKernel("full", {Array(from, {}, {1})},
                          {{"shape", Shape{2, 2}},
                           {"dtype", std::string(toString(to))}},
                          to, {2, 2}),
                (std::vector<double>{1, 1, 1, 1}));
}

TEST(KernelTest, EveryOpOfTheTableIsRegistered) {
  for (const char *name :
       {"unary", "binary", "cast", "matmul", "linear", "embedding", "softmax",
        "rms_norm", "sdpa", "reduce", "view", "permute", "expand", "slice",
        "cat", "arange", "full", "random"})
    EXPECT_NE(lookupKernel(name), nullptr);
}

} // namespace
