//===- Scan.cpp - running sums --------------------------------------------===//
//
// fp32 sums run in fp64 and 16-bit ones in fp32, rounded at every element.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"

namespace dtorch::cpu {
namespace {

template <typename T>
using Running =
    std::conditional_t<is16Bit<T>, float,
                       std::conditional_t<isFloat<T>, double, uint64_t>>;

template <typename T> void sumRow(const T *x, T *y, int64_t n) {
  Running<T> sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += convert<Running<T>>(x[i]);
    y[i] = convert<T>(sum);
  }
}

/// Over the first dim of an n x inner block, in groups of columns.
template <typename T>
void sumColumns(const T *x, T *y, int64_t n, int64_t inner) {
  constexpr int64_t group = 256;
  Running<T> sum[group];
  for (int64_t begin = 0; begin < inner; begin += group) {
    int64_t width = std::min(group, inner - begin);
    std::fill_n(sum, width, Running<T>(0));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) {
        int64_t at = i * inner + begin + j;
        sum[j] += convert<Running<T>>(x[at]);
        y[at] = convert<T>(sum[j]);
      }
  }
}

PreparedKernel prepareCumsum(const KernelSpec &spec) {
  const TensorSpec &input = spec.inputs[0];
  const Shape &shape = input.local();
  int64_t dim = spec.attrs.getInt("dim");
  if (input.box.empty())
    return doNothing();
  if (shape[dim] != input.global[dim])
    throw Error("cumsum: dim " + std::to_string(dim) + " must be whole",
                ErrorKind::Placement);
  int64_t n = shape[dim], outer = product(shape, 0, dim);
  int64_t inner = product(shape, dim + 1, shape.size());
  return dispatch(input.dtype, [&](auto tag) -> PreparedKernel {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>)
      throwAbsent("cumsum", input.dtype);
    else
      return [=](const void *const *inputs, void *const *outputs) {
        const T *x = in<T>(inputs, 0);
        T *y = out<T>(outputs);
        for (int64_t o = 0; o < outer; ++o, x += n * inner, y += n * inner)
          if (inner == 1)
            sumRow(x, y, n);
          else
            sumColumns(x, y, n, inner);
      };
  });
}

DTORCH_CPU_KERNEL("cumsum", prepareCumsum);

} // namespace
} // namespace dtorch::cpu
