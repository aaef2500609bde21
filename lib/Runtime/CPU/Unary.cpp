//===- Unary.cpp - elementwise functions of one tensor --------------------===//
#include "dtorch/Runtime/CPU/Elementary.h"
#include "dtorch/Runtime/CPU/Kernel.h"

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

struct Sine {
  static float fast(float x) { return fastSin(x); }
  template <typename C> static C exact(C x) { return std::sin(x); }
};
struct Cosine {
  static float fast(float x) { return fastCos(x); }
  template <typename C> static C exact(C x) { return std::cos(x); }
};

/// In fp32, chunk by chunk; a chunk with huge elements has them done again.
template <typename In, typename T, typename F>
PreparedKernel mapTurns(int64_t n) {
  if constexpr (std::is_same_v<T, double>)
    return map<In, T>(n, [](T x) { return F::exact(x); });
  else
    return [n](const void *const *inputs, void *const *outputs) {
      constexpr int64_t chunk = 1024;
      for (int64_t begin = 0; begin < n; begin += chunk) {
        const In *x = in<In>(inputs, 0) + begin;
        T *y = out<T>(outputs) + begin;
        int64_t count = std::min(chunk, n - begin);
        int huge = 0;
        for (int64_t i = 0; i < count; ++i) {
          float value = convert<float>(x[i]);
          y[i] = convert<T>(F::fast(value));
          huge |= int(std::abs(value) > QuarterTurns::limit);
        }
        for (int64_t i = 0; huge && i < count; ++i)
          if (float value = convert<float>(x[i]);
              std::abs(value) > QuarterTurns::limit)
            y[i] = convert<T>(F::exact(value));
      }
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
    return map<In, T>(n, [](C x) { return fastLog(x); });
  if (kind == "sqrt")
    return map<In, T>(n, [](C x) { return std::sqrt(x); });
  if (kind == "rsqrt")
    return map<In, T>(n, [](C x) { return C(1) / std::sqrt(x); });
  if (kind == "reciprocal")
    return map<In, T>(n, [](C x) { return C(1) / x; });
  if (kind == "sin")
    return mapTurns<In, T, Sine>(n);
  if (kind == "cos")
    return mapTurns<In, T, Cosine>(n);
  if (kind == "tanh")
    return map<In, T>(n, [](C x) { return fastTanh(x); });
  if (kind == "sigmoid")
    return map<In, T>(n, [](C x) { return sigmoid(x); });
  if (kind == "silu")
    return map<In, T>(n, [](C x) { return silu(x); });
  if (kind == "log2")
    return map<In, T>(n, [](C x) { return fastLog2(x); });
  if (kind == "log10")
    return map<In, T>(n, [](C x) { return fastLog10(x); });
  if (kind == "log1p")
    return map<In, T>(n, [](C x) { return fastLog1p(x); });
  if (kind == "expm1")
    return map<In, T>(n, [](C x) { return fastExpm1(x); });
  if (kind == "asin")
    return map<In, T>(n, [](C x) { return std::asin(x); });
  if (kind == "erf")
    return map<In, T>(n, [](C x) { return fastErf(x); });
  if (kind == "gelu") // the exact form, with erf
    return map<In, T>(n, [](C x) { return gelu(x); });
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
