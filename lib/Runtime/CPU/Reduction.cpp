//===- Reduction.cpp - combining the parts of pending values --------------===//
#include "dtorch/Runtime/CPU/Reduction.h"

#include "dtorch/Runtime/CPU/Math.h"
#include "dtorch/Runtime/CPU/Types.h"

#include <algorithm>

namespace dtorch {

using namespace cpu;

namespace {

template <ReduceKind Kind, typename T> T combine(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return Kind == ReduceKind::Min ? (a && b) : (a || b);
  else if constexpr (Kind == ReduceKind::Sum)
    return a + b;
  else if constexpr (Kind == ReduceKind::Max)
    return maxNaN(a, b);
  else
    return minNaN(a, b);
}

/// In chunks that stay in the first cache; the accumulator is apart from the
/// output, which may be one of the inputs. fp32 sums accumulate in fp64: many
/// devices then lose no more than one.
template <ReduceKind Kind, typename T>
void reduceTyped(std::span<const void *const> inputs, T *output,
                 int64_t count) {
  using Sum =
      std::conditional_t<std::is_same_v<T, float> && Kind == ReduceKind::Sum,
                         double, Compute<T>>;
  constexpr int64_t chunk = 1024;
  Sum accumulator[chunk];
  for (int64_t begin = 0; begin < count; begin += chunk) {
    int64_t n = std::min(chunk, count - begin);
    const T *first = static_cast<const T *>(inputs[0]) + begin;
    for (int64_t i = 0; i < n; ++i)
      accumulator[i] = convert<Compute<T>>(first[i]);
    for (const void *input : inputs.subspan(1)) {
      const T *values = static_cast<const T *>(input) + begin;
      for (int64_t i = 0; i < n; ++i)
        accumulator[i] =
            combine<Kind>(accumulator[i], Sum(convert<Compute<T>>(values[i])));
    }
    for (int64_t i = 0; i < n; ++i)
      output[begin + i] = convert<T>(static_cast<Compute<T>>(accumulator[i]));
  }
}

} // namespace

void reduceElements(DType dtype, ReduceKind kind,
                    std::span<const void *const> inputs, void *output,
                    int64_t count) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T *out = static_cast<T *>(output);
    switch (kind) {
    case ReduceKind::Sum:
      return reduceTyped<ReduceKind::Sum>(inputs, out, count);
    case ReduceKind::Max:
      return reduceTyped<ReduceKind::Max>(inputs, out, count);
    case ReduceKind::Min:
      return reduceTyped<ReduceKind::Min>(inputs, out, count);
    }
  });
}

} // namespace dtorch
