//===- Unary.cpp - elementwise functions of one tensor --------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"
#include "dtorch/Runtime/CPU/Math.h"

namespace dtorch::cpu {
namespace {

template <typename In, typename Out, typename F>
PreparedKernel map(int64_t n, F f) {
  return [n, f](const void *const *inputs, void *const *outputs) {
    const In *x = in<In>(inputs, 0);
    Out *y = out<Out>(outputs);
    for (int64_t i = 0; i < n; ++i)
      y[i] = convert<Out>(f(convert<Compute<Out>>(x[i])));
  };
}

/// A predicate: f sees the operand's own type.
template <typename T, typename F> PreparedKernel test(int64_t n, F f) {
  return [n, f](const void *const *inputs, void *const *outputs) {
    const T *x = in<T>(inputs, 0);
    bool *y = out<bool>(outputs);
    for (int64_t i = 0; i < n; ++i)
      y[i] = f(convert<Compute<T>>(x[i]));
  };
}

template <typename T>
PreparedKernel preparePredicate(const std::string &kind, int64_t n) {
  using C = Compute<T>;
  if (kind == "isnan")
    return test<T>(n, [](C x) { return x != x; });
  if (kind == "isinf") {
    if constexpr (isFloat<T>)
      return test<T>(n, [](C x) { return std::abs(x) == highest<C>(); });
    else
      return test<T>(n, [](C) { return false; });
  }
  if (kind == "logical_not")
    return test<T>(n, [](C x) { return x == C(0); });
  return nullptr;
}

/// Rounding to integers: integers stay as they are.
template <typename T>
PreparedKernel prepareRounding(const std::string &kind, int64_t n) {
  if (kind != "floor" && kind != "ceil" && kind != "round" && kind != "trunc")
    return nullptr;
  using C = Compute<T>;
  if constexpr (isFloat<T>) {
    if (kind == "floor")
      return map<T, T>(n, [](C x) { return std::floor(x); });
    if (kind == "ceil")
      return map<T, T>(n, [](C x) { return std::ceil(x); });
    if (kind == "round") // halves to even
      return map<T, T>(n, [](C x) { return std::nearbyint(x); });
    return map<T, T>(n, [](C x) { return std::trunc(x); });
  } else {
    return map<T, T>(n, [](C x) { return x; });
  }
}

/// Functions that keep the element type, integers included.
template <typename T>
PreparedKernel prepareSame(const std::string &kind, int64_t n) {
  using C = Compute<T>;
  if (kind == "neg")
    return map<T, T>(n, [](C x) { return -x; });
  if (kind == "abs")
    return map<T, T>(n, [](C x) { return std::abs(x); });
  if (kind == "square")
    return map<T, T>(n, [](C x) { return x * x; });
  if (kind == "relu") // NaN passes
    return map<T, T>(n, [](C x) { return x < C(0) ? C(0) : x; });
  if (kind == "sign") // 0 for NaN
    return map<T, T>(n, [](C x) { return C(C(x > C(0)) - C(x < C(0))); });
  return prepareRounding<T>(kind, n);
}

/// Functions with a floating result.
template <typename In, typename T>
PreparedKernel prepareFloat(const std::string &kind, int64_t n) {
  using C = Compute<T>;
  if (kind == "exp")
    return map<In, T>(n, [](C x) { return fastExp(x); });
  if (kind == "log")
    return map<In, T>(n, [](C x) { return std::log(x); });
  if (kind == "sqrt")
    return map<In, T>(n, [](C x) { return std::sqrt(x); });
  if (kind == "rsqrt")
    return map<In, T>(n, [](C x) { return C(1) / std::sqrt(x); });
  if (kind == "reciprocal")
    return map<In, T>(n, [](C x) { return C(1) / x; });
  if (kind == "sin")
    return map<In, T>(n, [](C x) { return std::sin(x); });
  if (kind == "cos")
    return map<In, T>(n, [](C x) { return std::cos(x); });
  if (kind == "tanh")
    return map<In, T>(n, [](C x) { return std::tanh(x); });
  if (kind == "sigmoid")
    return map<In, T>(n, [](C x) { return sigmoid(x); });
  if (kind == "silu")
    return map<In, T>(n, [](C x) { return silu(x); });
  if (kind == "log2")
    return map<In, T>(n, [](C x) { return std::log2(x); });
  if (kind == "log10")
    return map<In, T>(n, [](C x) { return std::log10(x); });
  if (kind == "log1p")
    return map<In, T>(n, [](C x) { return std::log1p(x); });
  if (kind == "expm1")
    return map<In, T>(n, [](C x) { return std::expm1(x); });
  if (kind == "asin")
    return map<In, T>(n, [](C x) { return std::asin(x); });
  if (kind == "erf")
    return map<In, T>(n, [](C x) { return std::erf(x); });
  if (kind == "gelu") // the exact form, with erf
    return map<In, T>(n, [](C x) {
      return C(0.5) * x * (C(1) + std::erf(x * C(0.70710678118654752440)));
    });
  return nullptr;
}

PreparedKernel prepareUnary(const KernelSpec &spec) {
  const std::string &kind = spec.attrs.getString("kind");
  DType from = spec.inputs[0].dtype, to = spec.outputs[0].dtype;
  int64_t n = spec.outputs[0].box.numElements();
  PreparedKernel kernel = dispatch(from, [&](auto tag) -> PreparedKernel {
    using In = typename decltype(tag)::type;
    if (to == DType::Bool)
      if (PreparedKernel predicate = preparePredicate<In>(kind, n))
        return predicate;
    if constexpr (!std::is_same_v<In, bool>) {
      if (from == to)
        if (PreparedKernel same = prepareSame<In>(kind, n))
          return same;
    } else if (kind == "sign") {
      return map<In, In>(n, [](bool x) { return x; });
    }
    if constexpr (isFloat<In>)
      return from == to ? prepareFloat<In, In>(kind, n) : nullptr;
    else
      return to == DType::Float32 ? prepareFloat<In, float>(kind, n) : nullptr;
  });
  if (!kernel)
    throwAbsent("unary " + kind, from);
  return kernel;
}

DTORCH_CPU_KERNEL("unary", prepareUnary);

} // namespace
} // namespace dtorch::cpu
