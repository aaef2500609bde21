//===- Attention.cpp - scaled dot-product attention -----------------------===//
//
// Blocked over keys with a running maximum and sum per row (Milakov and
// Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al.,
// FlashAttention, 2022): memory does not grow with the number of keys.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Attention.h"
#include "dtorch/Runtime/CPU/Math.h"
#include "dtorch/Runtime/CPU/SmallGemm.h"

namespace dtorch::cpu {
namespace {

constexpr int64_t blockRows = 32, blockKeys = 64;

int64_t roundUp(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

template <typename T> class Attention {
  using C = Compute<T>;

public:
  Attention(const AttentionShape &shape)
      : shape(shape), paddedValue(roundUp(shape.valueWidth, tileColumns<C>)) {}

  void run(const void *const *inputs, void *const *outputs) {
    const T *q = in<T>(inputs, 0), *k = in<T>(inputs, 1), *v = in<T>(inputs, 2);
    scale = *in<float>(inputs, 3);
    query = scratch<C>(blockRows * shape.width, 0);
    keyColumns = scratch<C>(shape.width * blockKeys, 1);
    values = scratch<C>(blockKeys * paddedValue, 2);
    scores = scratch<C>(blockRows * blockKeys, 3);
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
    int64_t count = std::min(blockRows, shape.rows - row);
    int64_t padded = roundUp(count, tileRows);
    for (int64_t i = 0; i < padded * shape.width; ++i)
      query[i] =
          i < count * shape.width ? convert<C>(q[row * shape.width + i]) : C(0);
    std::fill_n(sums, padded * paddedValue, C(0));
    std::fill_n(top, padded, lowest<C>());
    std::fill_n(total, padded, C(0));
    int64_t lastRow = shape.firstRow + row + count - 1;
    int64_t seen = shape.keys;
    if (shape.causal)
      seen = std::clamp<int64_t>(lastRow + 1 - shape.firstKey, 0, shape.keys);
    for (int64_t key = 0; key < seen; key += blockKeys) {
      int64_t keys = std::min(blockKeys, seen - key);
      loadKeys(k + key * shape.width, keys);
      smallGemm(query, shape.width, keyColumns, blockKeys, scores, blockKeys,
                padded, blockKeys, shape.width, false);
      for (int64_t i = 0; i < padded; ++i)
        weigh(i, std::min(row + i, shape.rows - 1), key, keys, mask,
              maskOffset);
      const C *rows = loadValues(v + key * shape.valueWidth, keys);
      smallGemm(scores, blockKeys, rows, paddedValue, sums, paddedValue, padded,
                paddedValue, keys, true);
    }
    // A row that saw nothing has total 0 and gives 0.
    for (int64_t i = 0; i < count; ++i) {
      C factor = total[i] == C(0) ? C(0) : C(1) / total[i];
      for (int64_t e = 0; e < shape.valueWidth; ++e)
        result[(row + i) * shape.valueWidth + e] =
            convert<T>(sums[i * paddedValue + e] * factor);
    }
  }

  /// Keys as columns, so that scores are summed along vectors.
  void loadKeys(const T *k, int64_t keys) {
    for (int64_t e = 0; e < shape.width; ++e) {
      C *column = keyColumns + e * blockKeys;
      for (int64_t j = 0; j < keys; ++j)
        column[j] = convert<C>(k[j * shape.width + e]);
      std::fill(column + keys, column + blockKeys, C(0));
    }
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

  /// Scores of one row become weights relative to the running maximum; earlier
  /// sums are scaled to it.
  void weigh(int64_t i, int64_t row, int64_t key, int64_t keys,
             const void *mask, int64_t maskOffset) {
    C *s = scores + i * blockKeys;
    for (int64_t j = 0; j < keys; ++j)
      s[j] *= scale;
    if (mask)
      applyMask(s, mask,
                maskOffset + row * shape.maskRowStride +
                    key * shape.maskKeyStride,
                keys);
    int64_t visible = keys;
    if (shape.causal)
      visible = std::clamp<int64_t>(
          shape.firstRow + row + 1 - shape.firstKey - key, 0, keys);
    std::fill(s + visible, s + blockKeys, lowest<C>());
    C before = top[i];
    C now = std::max(before, laneMax(s, visible));
    // Nothing seen so far: any finite reference gives weights 0.
    C reference = now == lowest<C>() ? C(0) : now;
    for (int64_t j = 0; j < blockKeys; ++j)
      s[j] = fastExp(s[j] - reference);
    C rescale = fastExp(before - reference);
    C sum = laneSum<C>(blockKeys, [s](int64_t j) { return s[j]; });
    total[i] = total[i] * rescale + sum;
    top[i] = now;
    if (rescale != C(1))
      for (int64_t e = 0; e < paddedValue; ++e)
        sums[i * paddedValue + e] *= rescale;
  }

  void applyMask(C *s, const void *mask, int64_t offset, int64_t keys) const {
    int64_t step = shape.maskKeyStride;
    if (shape.maskType == DType::Bool) {
      const bool *takesPart = static_cast<const bool *>(mask) + offset;
      for (int64_t j = 0; j < keys; ++j)
        s[j] = takesPart[j * step] ? s[j] : lowest<C>();
      return;
    }
    dispatchFloat("sdpa mask", shape.maskType, [&](auto tag) {
      using M = typename decltype(tag)::type;
      const M *added = static_cast<const M *>(mask) + offset;
      for (int64_t j = 0; j < keys; ++j)
        s[j] += convert<C>(added[j * step]);
    });
  }

  const AttentionShape shape;
  int64_t paddedValue;
  C scale = 1;
  C top[blockRows], total[blockRows];
  C *query = nullptr, *keyColumns = nullptr, *values = nullptr,
    *scores = nullptr, *sums = nullptr;
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
