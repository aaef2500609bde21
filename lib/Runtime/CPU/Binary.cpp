//===- Binary.cpp - elementwise arithmetic of two tensors -----------------===//
#include "dtorch/Runtime/CPU/Broadcast.h"
#include "dtorch/Runtime/CPU/Elementary.h"

namespace dtorch::cpu {

namespace {

/// Integer powers by squaring; a negative exponent truncates 1 / x^|e|.
template <typename T> T integerPower(T x, T exponent) {
  if (exponent < 0) {
    if (x == 1)
      return 1;
    if (x == -1)
      return exponent % 2 ? -1 : 1;
    return 0;
  }
  std::make_unsigned_t<T> result = 1, base = x;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return result;
}

struct FloatPower {
  float operator()(float x, float y) const { return fastPower(x, y); }
  bool isRare(float x, float y) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    return !(x > 0 && x < infinity && std::abs(y) < infinity);
  }
  float exact(float x, float y) const { return std::pow(x, y); }
};

template <typename T, typename F>
void mapAll(const T *x, T *y, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i)
    y[i] = convert<T>(f(convert<Compute<T>>(x[i])));
}

/// The common exponents, exactly where possible, as PyTorch has them. Returns
/// whether it is one of them.
template <typename T>
bool commonPower(Compute<T> exponent, const T *x, T *y, int64_t n) {
  using C = Compute<T>;
  if (exponent == C(2))
    mapAll(x, y, n, [](C v) { return v * v; });
  else if (exponent == C(3))
    mapAll(x, y, n, [](C v) { return v * v * v; });
  else if (exponent == C(0.5))
    mapAll(x, y, n, [](C v) { return std::sqrt(v); });
  else if (exponent == C(-1))
    mapAll(x, y, n, [](C v) { return C(1) / v; });
  else
    return false;
  return true;
}

template <typename T> PreparedKernel powerOf(const BroadcastLoops<2> &loops) {
  using C = Compute<T>;
  PreparedKernel any;
  if constexpr (std::is_same_v<C, float>)
    any = broadcast<T, T>(loops, FloatPower());
  else
    any = broadcast<T, T>(loops, [](C x, C y) { return std::pow(x, y); });
  if (!loops.sizes.empty() || !loops.moves[0] || loops.moves[1] || loops.empty)
    return any;
  // One exponent for all elements.
  return [any, loops](const void *const *inputs, void *const *outputs) {
    C exponent = convert<C>(*in<T>(inputs, 1));
    if (!commonPower(exponent, in<T>(inputs, 0), out<T>(outputs), loops.inner))
      any(inputs, outputs);
  };
}

template <typename T>
PreparedKernel arithmeticOf(const std::string &kind,
                            const BroadcastLoops<2> &loops) {
  using C = Compute<T>;
  if (kind == "maximum")
    return broadcast<T, T>(loops, [](C a, C b) { return maxNaN(a, b); });
  if (kind == "minimum")
    return broadcast<T, T>(loops, [](C a, C b) { return minNaN(a, b); });
  if constexpr (!isFloat<T>) {
    if (kind == "bitwise_and")
      return broadcast<T, T>(loops, [](T a, T b) -> T { return a & b; });
    if (kind == "bitwise_or")
      return broadcast<T, T>(loops, [](T a, T b) -> T { return a | b; });
    if (kind == "bitwise_xor")
      return broadcast<T, T>(loops, [](T a, T b) -> T { return a ^ b; });
  }
  if constexpr (std::is_same_v<T, bool>) {
    if (kind == "add")
      return broadcast<T, T>(loops, [](bool a, bool b) { return a || b; });
    if (kind == "mul")
      return broadcast<T, T>(loops, [](bool a, bool b) { return a && b; });
    return nullptr;
  } else {
    if (kind == "add")
      return broadcast<T, T>(loops, [](C a, C b) { return a + b; });
    if (kind == "sub")
      return broadcast<T, T>(loops, [](C a, C b) { return a - b; });
    if (kind == "mul")
      return broadcast<T, T>(loops, [](C a, C b) { return a * b; });
    if (kind == "pow") {
      if constexpr (isFloat<T>)
        return powerOf<T>(loops);
      else
        return broadcast<T, T>(loops,
                               [](C a, C b) { return integerPower(a, b); });
    }
    return nullptr;
  }
}

/// Division has a floating result, also of integers (fp32 then).
template <typename T>
PreparedKernel divisionOf(const BroadcastLoops<2> &loops) {
  using C = Compute<T>;
  if constexpr (isFloat<T>)
    return broadcast<T, T>(loops, [](C a, C b) { return a / b; });
  else
    return broadcast<T, float>(loops, [](T a, T b) {
      return static_cast<float>(a) / static_cast<float>(b);
    });
}

PreparedKernel prepareBinary(const KernelSpec &spec) {
  const std::string &kind = spec.attrs.getString("kind");
  if (spec.inputs[0].dtype != spec.inputs[1].dtype)
    throw Error("binary " + kind +
                    ": both operands have one element type, found " +
                    std::string(toString(spec.inputs[0].dtype)) + " and " +
                    std::string(toString(spec.inputs[1].dtype)),
                ErrorKind::Type);
  BroadcastLoops<2> loops(spec);
  PreparedKernel kernel = prepareArithmetic(kind, spec, loops);
  if (!kernel)
    kernel = prepareComparison(kind, spec, loops);
  if (!kernel)
    kernel = prepareDivision(kind, spec, loops);
  if (!kernel)
    throwAbsent("binary " + kind, spec.inputs[0].dtype);
  return kernel;
}

DTORCH_CPU_KERNEL("binary", prepareBinary);

} // namespace

PreparedKernel prepareArithmetic(const std::string &kind,
                                 const KernelSpec &spec,
                                 const BroadcastLoops<2> &loops) {
  return dispatch(spec.inputs[0].dtype, [&](auto tag) -> PreparedKernel {
    using T = typename decltype(tag)::type;
    if (kind == "div") {
      DType expected = isFloat<T> ? spec.inputs[0].dtype : DType::Float32;
      return spec.outputs[0].dtype == expected ? divisionOf<T>(loops) : nullptr;
    }
    if (spec.outputs[0].dtype != spec.inputs[0].dtype)
      return nullptr;
    return arithmeticOf<T>(kind, loops);
  });
}

} // namespace dtorch::cpu
