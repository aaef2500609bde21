//===- Compare.cpp - elementwise comparisons and logic --------------------===//
#include "dtorch/Runtime/CPU/Broadcast.h"

namespace dtorch::cpu {

PreparedKernel prepareComparison(const std::string &kind,
                                 const KernelSpec &spec,
                                 const BroadcastLoops<2> &loops) {
  if (spec.outputs[0].dtype != DType::Bool)
    return nullptr;
  return dispatch(spec.inputs[0].dtype, [&](auto tag) -> PreparedKernel {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    if (kind == "eq")
      return broadcast<T, bool>(loops, [](C a, C b) { return a == b; });
    if (kind == "ne")
      return broadcast<T, bool>(loops, [](C a, C b) { return a != b; });
    if (kind == "lt")
      return broadcast<T, bool>(loops, [](C a, C b) { return a < b; });
    if (kind == "le")
      return broadcast<T, bool>(loops, [](C a, C b) { return a <= b; });
    if (kind == "gt")
      return broadcast<T, bool>(loops, [](C a, C b) { return a > b; });
    if (kind == "ge")
      return broadcast<T, bool>(loops, [](C a, C b) { return a >= b; });
    if (kind == "logical_and")
      return broadcast<T, bool>(
          loops, [](C a, C b) { return a != C(0) && b != C(0); });
    if (kind == "logical_or")
      return broadcast<T, bool>(
          loops, [](C a, C b) { return a != C(0) || b != C(0); });
    if (kind == "logical_xor")
      return broadcast<T, bool>(
          loops, [](C a, C b) { return (a != C(0)) != (b != C(0)); });
    return nullptr;
  });
}

} // namespace dtorch::cpu
