//===- Division.cpp - rounded quotients and their remainders --------------===//
//
// As PyTorch's: floor_divide rounds down, remainder has the sign of the divisor
// and fmod that of the dividend. An integer divided by zero is an error.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Broadcast.h"

#include <cmath>

namespace dtorch::cpu {
namespace {

[[noreturn]] void throwDivisionByZero(const char *kind) {
  throw Error(std::string(kind) +
                  ": the divisor of an integer must not be 0, got 0 "
                  "(ZeroDivisionError)",
              ErrorKind::Runtime);
}

struct FloorDivide {
  static constexpr const char *name = "floor_divide";
  template <typename T> static T ofIntegers(T a, T b) {
    T quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
  }
  template <typename T> static T ofNegated(T a) {
    return T(0) - std::make_unsigned_t<T>(a); // wraps for the least number
  }
  /// The quotient of a less its remainder, which is near an integer.
  template <typename T> static T ofFloats(T a, T b) {
    if (b == 0)
      return a / b;
    T rest = std::fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
      quotient -= 1;
    if (quotient == 0)
      return std::copysign(T(0), a / b);
    T floor = std::floor(quotient);
    return quotient - floor > T(0.5) ? floor + 1 : floor;
  }
};

struct Remainder {
  static constexpr const char *name = "remainder";
  template <typename T> static T ofIntegers(T a, T b) {
    T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  template <typename T> static T ofNegated(T) { return 0; }
  template <typename T> static T ofFloats(T a, T b) {
    T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};

struct Fmod {
  static constexpr const char *name = "fmod";
  template <typename T> static T ofIntegers(T a, T b) { return a % b; }
  template <typename T> static T ofNegated(T) { return 0; }
  template <typename T> static T ofFloats(T a, T b) { return std::fmod(a, b); }
};

template <typename Op, typename T>
PreparedKernel divide(const BroadcastLoops<2> &loops) {
  if constexpr (isFloat<T>)
    return broadcast<T, T>(
        loops, [](Compute<T> a, Compute<T> b) { return Op::ofFloats(a, b); });
  else
    return broadcast<T, T>(loops, [](T a, T b) -> T {
      if (b == 0)
        throwDivisionByZero(Op::name);
      // The least number divided by -1 traps.
      return b == -1 ? Op::ofNegated(a) : Op::ofIntegers(a, b);
    });
}

} // namespace

PreparedKernel prepareDivision(const std::string &kind, const KernelSpec &spec,
                               const BroadcastLoops<2> &loops) {
  if (spec.outputs[0].dtype != spec.inputs[0].dtype)
    return nullptr;
  return dispatch(spec.inputs[0].dtype, [&](auto tag) -> PreparedKernel {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      if (kind == FloorDivide::name)
        return divide<FloorDivide, T>(loops);
      if (kind == Remainder::name)
        return divide<Remainder, T>(loops);
      if (kind == Fmod::name)
        return divide<Fmod, T>(loops);
    }
    return nullptr;
  });
}

} // namespace dtorch::cpu
