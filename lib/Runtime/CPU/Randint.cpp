//===- Randint.cpp - random integers keyed by global element index --------===//
#include "dtorch/Runtime/CPU/GlobalRuns.h"
#include "dtorch/Runtime/Philox.h"

namespace dtorch::cpu {
namespace {

/// floor(x span / 2^64), with 32-bit halves: x = (high, low).
uint64_t scaled(uint32_t high, uint32_t low, uint64_t span) {
  unsigned __int128 x = uint64_t(high) << 32 | low;
  return static_cast<uint64_t>(x * span >> 64);
}

struct Range {
  uint64_t seed, offset;
  int64_t low;
  uint64_t span;

  int64_t at(int64_t element) const {
    PhiloxWords four = philox(seed, element / 2, offset);
    const uint32_t *pair = four.w + element % 2 * 2;
    return static_cast<int64_t>(low + scaled(pair[0], pair[1], span));
  }
};

Range readRange(const void *const *inputs) {
  int64_t low = *in<int64_t>(inputs, 2), high = *in<int64_t>(inputs, 3);
  if (low >= high)
    throw Error("randint: low must be below high, got " + std::to_string(low) +
                " and " + std::to_string(high));
  return {uint64_t(*in<int64_t>(inputs, 0)), uint64_t(*in<int64_t>(inputs, 1)),
          low, uint64_t(high) - uint64_t(low)};
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
        for (int64_t i = begin; i < begin + n; ++i)
          *y++ = convert<T>(range.at(i));
      });
    };
  });
}

DTORCH_CPU_KERNEL("randint", prepareRandint);

} // namespace
} // namespace dtorch::cpu
