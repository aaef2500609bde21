//===- AttentionTest.cpp - attention against a naive loop -----------------===//
#include "Testing.h"

#include <cmath>
#include <random>

using namespace dtorch;
using namespace dtorch::testing;

namespace {

/// A whole attention and its value by definition, in double.
struct Problem {
  int64_t batch = 1, heads = 1, kvHeads = 1, rows = 1, keys = 1, width = 1,
          vWidth = 1;
  bool causal = false;
  int mask =
      0; ///< 0 none, 1 bool [L, S], 2 float [B, H, L, S], 3 bool [1, H, 1, S]
  DType dtype = DType::Float32;
  std::vector<double> q, k, v, m;

  Shape maskShape() const {
    if (mask == 1)
      return {rows, keys};
    return mask == 2 ? Shape{batch, heads, rows, keys}
                     : Shape{1, heads, 1, keys};
  }
  DType maskDType() const { return mask == 2 ? dtype : DType::Bool; }

  void fill(int seed) {
    std::mt19937 random(seed);
    auto draw = [&](std::vector<double> &list, int64_t n) {
      list.resize(n);
      for (double &x : list)
        x = (static_cast<int>(random() % 65) - 32) / 16.0; // exact in all types
    };
    draw(q, batch * heads * rows * width);
    draw(k, batch * kvHeads * keys * width);
    draw(v, batch * kvHeads * keys * vWidth);
    if (mask) {
      draw(m, numElements(maskShape()));
      if (mask != 2)
        for (double &x : m)
          x = x > 0;
    }
  }

  /// As the kernel gets it: in float32.
  double scale() const {
    return float(1 / std::sqrt(static_cast<double>(width)));
  }

  double maskAt(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (mask == 0)
      return 0;
    if (mask == 1)
      return m[i * keys + j] ? 0 : -INFINITY;
    if (mask == 3)
      return m[h * keys + j] ? 0 : -INFINITY;
    return m[((b * heads + h) * rows + i) * keys + j];
  }

  double at(int64_t b, int64_t h, int64_t i, int64_t e) const {
    int64_t kv = h / (heads / kvHeads);
    std::vector<double> s(keys);
    double top = -INFINITY;
    for (int64_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (int64_t x = 0; x < width; ++x)
        dot += q[((b * heads + h) * rows + i) * width + x] *
               k[((b * kvHeads + kv) * keys + j) * width + x];
      s[j] = dot * scale() + maskAt(b, h, i, j);
      if (causal && j > i)
        s[j] = -INFINITY;
      top = std::max(top, s[j]);
    }
    double sum = 0, value = 0;
    for (int64_t j = 0; j < keys && top > -INFINITY; ++j) {
      double weight = std::exp(s[j] - top);
      sum += weight;
      value += weight * v[((b * kvHeads + kv) * keys + j) * vWidth + e];
    }
    return sum > 0 ? value / sum : 0;
  }

  /// A box of a whole [B, H, L, E] tensor.
  static Array part(DType dtype, const std::vector<double> &values,
                    Shape global, Shape offset, Shape size) {
    std::vector<double> local;
    for (int64_t b = 0; b < size[0]; ++b)
      for (int64_t h = 0; h < size[1]; ++h)
        for (int64_t i = 0; i < size[2]; ++i)
          for (int64_t e = 0; e < size[3]; ++e)
            local.push_back(
                values[(((offset[0] + b) * global[1] + offset[1] + h) *
                            global[2] +
                        offset[2] + i) *
                           global[3] +
                       offset[3] + e]);
    return Array(dtype, size, local).partOf(global, offset);
  }

  /// Runs the kernel on a part of the heads and rows, K/V heads [kv, kv + kvs),
  /// and compares.
  void check(int64_t head, int64_t headCount, int64_t row, int64_t rowCount,
             int64_t kvHead, int64_t kvCount, bool cutMask = false) {
    Shape whole{batch, heads, rows, width};
    std::vector<Array> inputs = {
        part(dtype, q, whole, {0, head, row, 0},
             {batch, headCount, rowCount, width}),
        part(dtype, k, {batch, kvHeads, keys, width}, {0, kvHead, 0, 0},
             {batch, kvCount, keys, width}),
        part(dtype, v, {batch, kvHeads, keys, vWidth}, {0, kvHead, 0, 0},
             {batch, kvCount, keys, vWidth}),
        Array(DType::Float32, {}, {scale()})};
    if (mask == 2 && cutMask)
      inputs.push_back(part(maskDType(), m, maskShape(), {0, head, row, 0},
                            {batch, headCount, rowCount, keys}));
    else if (mask)
      inputs.push_back(Array(maskDType(), maskShape(), m));
    Array result = Array(dtype, {batch, headCount, rowCount, vWidth}, {})
                       .partOf({batch, heads, rows, vWidth}, {0, head, row, 0});
    auto got = runKernel("sdpa", inputs, {{"is_causal", causal}}, result);
    double bound = dtype == DType::Float64   ? 1e-12
                   : dtype == DType::Float32 ? 4e-6
                   : dtype == DType::Float16 ? 2e-3
                                             : 1.6e-2;
    size_t n = 0;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = head; h < head + headCount; ++h)
        for (int64_t i = row; i < row + rowCount; ++i)
          for (int64_t e = 0; e < vWidth; ++e)
            ASSERT_NEAR(got[n++], at(b, h, i, e), bound)
                << "b " << b << " h " << h << " i " << i << " e " << e;
  }
};

TEST(AttentionTest, WholeInEveryTypeAndMask) {
  int seed = 0;
  for (DType dtype : floatDTypes)
    for (int mask : {0, 1, 2, 3})
      for (bool causal : {false, true})
        for (auto [rows, keys, width, vWidth] :
             {std::array<int64_t, 4>{7, 7, 4, 4},
              {1, 9, 64, 32},
              {70, 130, 8, 5},
              {33, 65, 16, 48}}) {
          Problem p{2,      4,    2,     rows, keys, width, vWidth,
                    causal, mask, dtype, {},   {},   {},    {}};
          p.fill(++seed);
          p.check(0, 4, 0, rows, 0, 2);
        }
}

TEST(AttentionTest, PartsOfHeadsAndRows) {
  for (int mask : {0, 2, 3}) {
    Problem p{2,  9,  3,  11, 11, 8, 8, true, mask, DType::Float32,
              {}, {}, {}, {}};
    p.fill(3 + mask);
    p.check(0, 5, 0, 11, 0, 3);       // K/V whole
    p.check(5, 4, 0, 11, 0, 3);       // second device of uneven heads
    p.check(5, 4, 0, 11, 1, 2);       // just the K/V heads it needs
    p.check(3, 3, 4, 7, 1, 1);        // a shard of K/V heads, lower rows
    p.check(0, 9, 10, 1, 0, 3, true); // the mask follows the rows
    p.check(6, 3, 5, 3, 2, 1, true);
  }
}

TEST(AttentionTest, ManyKeys) {
  Problem p{1, 2, 1, 40, 700, 16, 16, false, 0, DType::Float32, {}, {}, {}, {}};
  p.fill(8);
  p.check(0, 2, 0, 40, 0, 1);
  p.causal = true;
  p.check(1, 1, 20, 20, 0, 1);
}

TEST(AttentionTest, EmptyParts) {
  Problem p{1, 2, 1, 3, 0, 4, 4, false, 0, DType::Float32, {}, {}, {}, {}};
  p.fill(1);
  p.check(0, 2, 0, 3, 0, 1); // no key: zeros
  p.keys = 5;
  p.fill(2);
  p.check(0, 2, 3, 0, 0, 1); // no row
  p.check(2, 0, 0, 3, 0, 1); // no head
  p.check(2, 0, 0, 3, 1, 0);
}

TEST(AttentionTest, FullyMaskedRowsGiveZeroAndLargeScoresNoNaN) {
  Problem p{1, 1, 1, 2, 3, 1, 1, false, 1, DType::Float32, {}, {}, {}, {}};
  p.q = {1000, 1};
  p.k = {1000, -1000, 0};
  p.v = {1, 2, 3};
  p.m = {1, 1, 1, 0, 0, 0};
  p.check(0, 1, 0, 2, 0, 1);
}

TEST(AttentionTest, MissingKVHeadsAreAnError) {
  Problem p{1, 4, 2, 3, 3, 4, 4, false, 0, DType::Float32, {}, {}, {}, {}};
  p.fill(1);
  EXPECT_NE(errorOf([&] { p.check(2, 2, 0, 3, 0, 1); }).find("sdpa: key"),
            std::string::npos);
}

} // namespace
