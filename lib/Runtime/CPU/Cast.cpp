//===- Cast.cpp - changes of element type ---------------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"

#include <cstring>

namespace dtorch::cpu {
namespace {

template <typename From, typename To>
void castAll(const void *const *inputs, void *const *outputs, int64_t n) {
  const From *x = in<From>(inputs, 0);
  To *y = out<To>(outputs);
  for (int64_t i = 0; i < n; ++i)
    y[i] = convert<To>(x[i]);
}

PreparedKernel prepareCast(const KernelSpec &spec) {
  int64_t n = spec.outputs[0].box.numElements();
  return dispatch(spec.inputs[0].dtype, [&](auto fromTag) {
    return dispatch(spec.outputs[0].dtype, [&](auto toTag) -> PreparedKernel {
      using From = typename decltype(fromTag)::type;
      using To = typename decltype(toTag)::type;
      return [n](const void *const *inputs, void *const *outputs) {
        castAll<From, To>(inputs, outputs, n);
      };
    });
  });
}

DTORCH_CPU_KERNEL("cast", prepareCast);

} // namespace
} // namespace dtorch::cpu
