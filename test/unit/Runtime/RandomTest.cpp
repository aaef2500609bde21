//===- RandomTest.cpp - random numbers keyed by element -------------------===//
#include "Testing.h"
#include "dtorch/Runtime/Philox.h"

#include <cmath>

using namespace dtorch;
using namespace dtorch::testing;

namespace {

void expectWords(PhiloxWords words, std::vector<uint32_t> expected) {
  EXPECT_EQ(std::vector<uint32_t>(words.w, words.w + 4), expected);
}

TEST(PhiloxTest, KnownAnswers) {
  // The vectors published with Random123.
  expectWords(philox(0, 0, 0),
              {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  expectWords(philox(~0ull, ~0ull, ~0ull),
              {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  expectWords(
      philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
      {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

std::vector<double> draw(const char *kind, DType dtype, const Array &part,
                         double seed, double offset = 0) {
  return runKernel(
      "random",
      {Array(DType::Int64, {}, {seed}), Array(DType::Int64, {}, {offset})},
      {{"kind", std::string(kind)},
       {"shape", part.global},
       {"dtype", std::string(toString(dtype))}},
      part);
}

TEST(RandomTest, WordsAreTakenByGlobalIndex) {
  auto values =
      draw("uniform", DType::Float32, Array(DType::Float32, {10}, {}), 42, 3);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(values[i],
              (philox(42, i / 4, 3).w[i % 4] >> 8) / double(1 << 24));
}

TEST(RandomTest, NormalIsBoxMullerOverPairsOfWords) {
  for (DType dtype : {DType::Float32, DType::Float64}) {
    auto values = draw("normal", dtype, Array(dtype, {400}, {}), 7, 1);
    for (int i = 0; i < 400; i += 2) {
      PhiloxWords words = philox(7, i / 4, 1);
      double u = (words.w[i % 4] + 1.0) / 4294967296.0;
      double angle = 2 * M_PI * words.w[i % 4 + 1] / 4294967296.0;
      double radius = std::sqrt(-2 * std::log(u));
      double bound = dtype == DType::Float32 ? 2e-6 : 1e-12;
      EXPECT_NEAR(values[i], radius * std::cos(angle), bound);
      EXPECT_NEAR(values[i + 1], radius * std::sin(angle), bound);
    }
  }
}

TEST(RandomTest, EveryBoxHoldsItsPartOfTheSameTensor) {
  Shape global{5, 3, 7};
  for (const char *kind : {"normal", "uniform"})
    for (DType dtype : floatDTypes) {
      auto whole = draw(kind, dtype, Array(dtype, global, {}), 11);
      for (Shape offset : {Shape{0, 0, 0}, Shape{2, 1, 3}, Shape{4, 0, 6}})
        for (Shape size : {Shape{1, 2, 1}, Shape{1, 3, 7}, Shape{0, 3, 7}}) {
          Shape at = offset;
          for (size_t d = 0; d < 3; ++d)
            at[d] = std::min(at[d], global[d] - size[d]);
          auto part =
              draw(kind, dtype, Array(dtype, size, {}).partOf(global, at), 11);
          size_t n = 0;
          for (int64_t a = 0; a < size[0]; ++a)
            for (int64_t b = 0; b < size[1]; ++b)
              for (int64_t c = 0; c < size[2]; ++c)
                EXPECT_EQ(part[n++],
                          whole[((at[0] + a) * 3 + at[1] + b) * 7 + at[2] + c]);
        }
    }
}

TEST(RandomTest, MomentsAreRight) {
  const int64_t n = 100000;
  for (DType dtype : floatDTypes) {
    for (bool normal : {true, false}) {
      auto values = draw(normal ? "normal" : "uniform", dtype,
                         Array(dtype, {n}, {}), 123);
      double sum = 0, squares = 0;
      for (double value : values) {
        sum += value;
        squares += value * value;
        if (!normal)
          ASSERT_TRUE(value >= 0 && value < 1) << value;
        ASSERT_TRUE(std::isfinite(value));
      }
      double mean = sum / n, variance = squares / n - mean * mean;
      EXPECT_NEAR(mean, normal ? 0 : 0.5, 0.01);
      EXPECT_NEAR(variance, normal ? 1 : 1.0 / 12, normal ? 0.02 : 0.002);
    }
  }
}

} // namespace
