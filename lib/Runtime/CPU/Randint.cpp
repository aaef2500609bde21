//===- Randint.cpp - random integers keyed by global element index --------===//
#include "dtorch/Runtime/CPU/GlobalRuns.h"
#include "dtorch/Runtime/Philox.h"

namespace dtorch::cpu {
namespace {

/// floor(x span / 2^64) for x of two words. Small spans need no 128 bits and
/// vectorise.
template <bool Small>
uint64_t scaled(uint32_t high, uint32_t low, uint64_t span) {
  if constexpr (Small)
    return (high * span + (low * span >> 32)) >> 32;
  unsigned __int128 x = uint64_t(high) << 32 | low;
  return static_cast<uint64_t>(x * span >> 64);
}

struct Range {
  uint64_t seed, offset, low, span;

  /// Elements [begin, begin + n) of the global tensor.
  template <typename T, bool Small>
  void fill(int64_t begin, int64_t n, T *y) const {
    constexpr int64_t groups = 64;
    int64_t values[2 * groups];
    for (int64_t at = begin, end = begin + n; at < end;) {
      int64_t base = at / 2;
      uint32_t words[4][groups];
      for (int64_t g = 0; g < groups; ++g) {
        PhiloxWords four = philox(seed, base + g, offset);
        for (int k = 0; k < 4; ++k)
          words[k][g] = four.w[k];
      }
      for (int64_t g = 0; g < groups; ++g)
        for (int k = 0; k < 2; ++k)
          values[2 * g + k] = static_cast<int64_t>(
              low + scaled<Small>(words[2 * k][g], words[2 * k + 1][g], span));
      int64_t stop = std::min(end, 2 * (base + groups));
      for (; at < stop; ++at)
        *y++ = convert<T>(values[at - 2 * base]);
    }
  }
};

Range readRange(const void *const *inputs) {
  int64_t low = *in<int64_t>(inputs, 2), high = *in<int64_t>(inputs, 3);
  if (low >= high)
    throw Error("randint: low must be below high, got " + std::to_string(low) +
                " and " + std::to_string(high));
  return {uint64_t(*in<int64_t>(inputs, 0)), uint64_t(*in<int64_t>(inputs, 1)),
          uint64_t(low), uint64_t(high) - uint64_t(low)};
}

PreparedKernel prepareRandint(const KernelSpec &spec) {
  const TensorSpec &result = spec.outputs[0];
  for (const TensorSpec &input : spec.inputs)
    requireDType("randint: operands", input, DType::Int64);
  if (result.box.empty())
    return doNothing();
  GlobalRuns runs(result);
  return dispatch(result.dtype, [&](auto tag) -> PreparedKernel {
    using T = typename decltype(tag)::type;
    return [=](const void *const *inputs, void *const *outputs) {
      Range range = readRange(inputs);
      T *y = out<T>(outputs);
      runs.forEach([&](int64_t begin, int64_t n) {
        if (range.span >> 32)
          range.fill<T, false>(begin, n, y);
        else
          range.fill<T, true>(begin, n, y);
        y += n;
      });
    };
  });
}

DTORCH_CPU_KERNEL("randint", prepareRandint);

} // namespace
} // namespace dtorch::cpu
