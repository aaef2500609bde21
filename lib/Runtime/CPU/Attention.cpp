//===- Attention.cpp - scaled dot-product attention -----------------------===//
//
// Blocked over keys with a running maximum and sum per row (Milakov and
// Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al.,
// FlashAttention, 2022): memory does not grow with the number of keys.
//
// Scores are kept with keys as rows and query rows as columns. So only a block
// of queries is ever transposed, and the softmax runs along vectors.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Attention.h"
#include "dtorch/Runtime/CPU/Math.h"
#include "dtorch/Runtime/CPU/SmallGemm.h"

namespace dtorch::cpu {
namespace {

constexpr int64_t blockRows = 64, blockKeys = 64;

int64_t roundUp(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

template <typename T> class Attention {
  using C = Compute<T>;
  static constexpr int64_t lanes = vectorWidth<C>;

public:
  Attention(const AttentionShape &shape)
      : shape(shape), paddedValue(roundUp(shape.valueWidth, lanes)) {}

  void run(const void *const *inputs, void *const *outputs) {
    const T *q = in<T>(inputs, 0), *k = in<T>(inputs, 1), *v = in<T>(inputs, 2);
    scale = *in<float>(inputs, 3);
    query = scratch<C>(shape.width * blockRows, 0);
    keyRows = scratch<C>(blockKeys * shape.width, 1);
    values = scratch<C>(blockKeys * paddedValue, 2);
    scores = scratch<C>(blockKeys * blockRows, 3);
    sums = scratch<C>(blockRows * paddedValue, 4);
    for (const AttentionShape::Head &head : shape.heads)
      for (int64_t row = 0; row < shape.rows; row += blockRows)
        runRows(q + head.query, k + head.key, v + head.value,
                shape.hasMask ? inputs[4] : nullptr, head.mask,
                out<T>(outputs) + head.result, row);
  }

private:
  /// One block of query rows against all keys it may see.
  void runRows(const T *q, const T *k, const T *v, const void *mask,
               int64_t maskOffset, T *result, int64_t row) {
    count = std::min(blockRows, shape.rows - row);
    padded = roundUp(count, lanes);
    loadQueries(q + row * shape.width);
    std::fill_n(sums, padded * paddedValue, C(0));
    std::fill_n(top, padded, lowest<C>());
    std::fill_n(total, padded, C(0));
    int64_t seen = shape.keys;
    /// The first key that the first row does not see.
    int64_t diagonal = shape.firstRow + row + 1 - shape.firstKey;
    if (shape.causal)
      seen = std::clamp<int64_t>(diagonal + count - 1, 0, shape.keys);
    for (int64_t key = 0; key < seen; key += blockKeys) {
      int64_t keys = std::min(blockKeys, seen - key);
      // Rows before the first one that sees a key of the block are left out.
      int64_t first = 0;
      if (shape.causal)
        first = std::max<int64_t>(key + 1 - diagonal, 0) / lanes * lanes;
      smallGemm<false, C>(
          {loadKeys(k + key * shape.width, keys), shape.width, 1},
          query + first, blockRows, scores + first, blockRows, keys,
          padded - first, shape.width);
      if (mask)
        applyMask(first, mask,
                  maskOffset + row * shape.maskRowStride +
                      key * shape.maskKeyStride,
                  keys);
      if (shape.causal)
        hideFuture(diagonal - key, keys);
      weigh(first, keys);
      smallGemm<true, C>({scores + first, 1, blockRows},
                         loadValues(v + key * shape.valueWidth, keys),
                         paddedValue, sums + first * paddedValue, paddedValue,
                         count - first, paddedValue, keys);
    }
    // A row that saw nothing has total 0 and gives 0.
    for (int64_t i = 0; i < count; ++i) {
      C factor = total[i] == C(0) ? C(0) : C(1) / total[i];
      for (int64_t e = 0; e < shape.valueWidth; ++e)
        result[(row + i) * shape.valueWidth + e] =
            convert<T>(sums[i * paddedValue + e] * factor);
    }
  }

  /// Queries as columns, scaled; columns of padding are 0.
  void loadQueries(const T *q) {
    constexpr int64_t tile = 16; // both sides of a transpose in the cache
    for (int64_t e0 = 0; e0 < shape.width; e0 += tile)
      for (int64_t i = 0; i < count; ++i)
        for (int64_t e = e0; e < std::min(e0 + tile, shape.width); ++e)
          query[e * blockRows + i] = convert<C>(q[i * shape.width + e]) * scale;
    for (int64_t e = 0; e < shape.width; ++e)
      std::fill(query + e * blockRows + count, query + e * blockRows + padded,
                C(0));
  }

  /// Keys in the computing type; in place where they are.
  const C *loadKeys(const T *k, int64_t keys) {
    if constexpr (std::is_same_v<T, C>)
      return k;
    for (int64_t i = 0; i < keys * shape.width; ++i)
      keyRows[i] = convert<C>(k[i]);
    return keyRows;
  }

  /// Value rows in the computing type and padded; in place where they are so.
  const C *loadValues(const T *v, int64_t keys) {
    if constexpr (std::is_same_v<T, C>)
      if (paddedValue == shape.valueWidth)
        return v;
    for (int64_t j = 0; j < keys; ++j) {
      C *row = values + j * paddedValue;
      for (int64_t e = 0; e < shape.valueWidth; ++e)
        row[e] = convert<C>(v[j * shape.valueWidth + e]);
      std::fill(row + shape.valueWidth, row + paddedValue, C(0));
    }
    return values;
  }

  /// Row i sees the keys before diagonal + i.
  void hideFuture(int64_t diagonal, int64_t keys) {
    for (int64_t j = std::max<int64_t>(diagonal, 0); j < keys; ++j)
      std::fill_n(scores + j * blockRows, std::min(j + 1 - diagonal, padded),
                  lowest<C>());
  }

  /// Scores of the rows from `first` on become weights relative to the running
  /// maxima; earlier sums are scaled to these. A NaN is no maximum; it enters
  /// through the exponentials.
  void weigh(int64_t first, int64_t keys) {
    for (int64_t i0 = first; i0 < padded; i0 += lanes) {
      C now[lanes], sum[lanes] = {}, reference[lanes], rescale[lanes];
      std::copy_n(top + i0, lanes, now);
      for (int64_t j = 0; j < keys; ++j)
        for (int64_t i = 0; i < lanes; ++i) {
          C score = scores[j * blockRows + i0 + i];
          now[i] = score > now[i] ? score : now[i];
        }
      bool same = true;
      for (int64_t i = 0; i < lanes; ++i) {
        // Nothing seen so far: any finite reference gives weights 0.
        reference[i] = now[i] == lowest<C>() ? C(0) : now[i];
        rescale[i] = fastExp(top[i0 + i] - reference[i]);
        same &= now[i] == top[i0 + i];
      }
      for (int64_t j = 0; j < keys; ++j) {
        C *s = scores + j * blockRows + i0;
        for (int64_t i = 0; i < lanes; ++i) {
          s[i] = fastExp(s[i] - reference[i]);
          sum[i] += s[i];
        }
      }
      for (int64_t i = 0; i < lanes; ++i) {
        total[i0 + i] = total[i0 + i] * rescale[i] + sum[i];
        top[i0 + i] = now[i];
      }
      for (int64_t i = 0; i < lanes && !same; ++i)
        for (int64_t e = 0; e < paddedValue; ++e)
          sums[(i0 + i) * paddedValue + e] *= rescale[i];
    }
  }

  void applyMask(int64_t first, const void *mask, int64_t offset,
                 int64_t keys) {
    auto forEach = [&](auto *at, auto body) {
      for (int64_t j = 0; j < keys; ++j)
        for (int64_t i = first; i < count; ++i)
          body(scores[j * blockRows + i],
               at[offset + i * shape.maskRowStride + j * shape.maskKeyStride]);
    };
    if (shape.maskType == DType::Bool)
      return forEach(static_cast<const bool *>(mask), [](C &s, bool takesPart) {
        s = takesPart ? s : lowest<C>();
      });
    dispatchFloat("sdpa mask", shape.maskType, [&](auto tag) {
      using M = typename decltype(tag)::type;
      forEach(static_cast<const M *>(mask),
              [](C &s, M added) { s += convert<C>(added); });
    });
  }

  const AttentionShape shape;
  int64_t paddedValue;
  C scale = 1;
  int64_t count = 0, padded = 0; ///< rows of the block, and with padding
  C top[blockRows], total[blockRows];
  C *query = nullptr, *keyRows = nullptr, *values = nullptr, *scores = nullptr,
    *sums = nullptr;
};

PreparedKernel prepareSDPA(const KernelSpec &spec) {
  requireDType("sdpa: scale", spec.inputs[3], DType::Float32);
  AttentionShape shape(spec);
  const TensorSpec &result = spec.outputs[0];
  if (result.box.empty())
    return doNothing();
  if (shape.keys == 0) {
    int64_t bytes = result.box.numElements() * itemSize(result.dtype);
    return [bytes](const void *const *, void *const *outputs) {
      std::fill_n(out<char>(outputs), bytes, 0);
    };
  }
  if (shape.hasMask && shape.maskType != DType::Bool &&
      !isFloating(shape.maskType))
    throw Error("sdpa: a mask is bool or floating, got " +
                    std::string(toString(shape.maskType)),
                ErrorKind::Type);
  return dispatchFloat("sdpa", spec.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto attention = std::make_shared<Attention<T>>(shape);
    return PreparedKernel(
        [attention](const void *const *inputs, void *const *outputs) {
          attention->run(inputs, outputs);
        });
  });
}

DTORCH_CPU_KERNEL("sdpa", prepareSDPA);

} // namespace
} // namespace dtorch::cpu
