//===- Factory.cpp - arange and full --------------------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"

namespace dtorch::cpu {
namespace {

/// Positions come from the box: element i of the local part is i + its offset.
template <typename Number, typename T> PreparedKernel arangeOf(const Box &box) {
  int64_t begin = box.offset[0], n = box.size[0];
  return [begin, n](const void *const *inputs, void *const *outputs) {
    Number start = *in<Number>(inputs, 0), step = *in<Number>(inputs, 1);
    T *y = out<T>(outputs);
    for (int64_t i = 0; i < n; ++i)
      y[i] = convert<T>(Number(start + Number(begin + i) * step));
  };
}

PreparedKernel prepareArange(const KernelSpec &spec) {
  DType number = spec.inputs[0].dtype;
  if (spec.inputs[1].dtype != number ||
      (number != DType::Int64 && number != DType::Float64))
    throw Error(
        "arange: start and step are both int64 or both float64, found " +
            std::string(toString(number)) + " and " +
            std::string(toString(spec.inputs[1].dtype)),
        ErrorKind::Type);
  return dispatch(spec.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Box &box = spec.outputs[0].box;
    return number == DType::Int64 ? arangeOf<int64_t, T>(box)
                                  : arangeOf<double, T>(box);
  });
}

PreparedKernel prepareFull(const KernelSpec &spec) {
  int64_t n = spec.outputs[0].box.numElements();
  return dispatch(spec.inputs[0].dtype, [&](auto fromTag) {
    return dispatch(spec.outputs[0].dtype, [&](auto toTag) -> PreparedKernel {
      using From = typename decltype(fromTag)::type;
      using To = typename decltype(toTag)::type;
      return [n](const void *const *inputs, void *const *outputs) {
        std::fill_n(out<To>(outputs), n, convert<To>(*in<From>(inputs, 0)));
      };
    });
  });
}

DTORCH_CPU_KERNEL("arange", prepareArange);
DTORCH_CPU_KERNEL("full", prepareFull);

} // namespace
} // namespace dtorch::cpu
