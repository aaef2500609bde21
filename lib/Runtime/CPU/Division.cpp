//===- Division.cpp - rounded quotients and their remainders --------------===//
//
// As PyTorch's: floor_divide rounds down, remainder has the sign of the divisor
// and fmod that of the dividend. An integer divided by zero is an error.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Broadcast.h"
#include "dtorch/Runtime/CPU/Elementary.h"

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
  /// The quotient of a less its remainder is near an integer.
  template <typename T> static T ofFloats(T a, T b, T rest) {
    T quotient = (a - rest) / b;
    quotient -= rest != 0 && (b < 0) != (rest < 0) ? T(1) : T(0);
    T floor = std::floor(quotient);
    floor += quotient - floor > T(0.5) ? T(1) : T(0);
    T result = quotient == 0 ? std::copysign(T(0), a / b) : floor;
    return b == 0 ? a / b : result;
  }
};

struct Remainder {
  static constexpr const char *name = "remainder";
  template <typename T> static T ofIntegers(T a, T b) {
    T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  template <typename T> static T ofNegated(T) { return 0; }
  template <typename T> static T ofFloats(T, T b, T rest) {
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};

struct Fmod {
  static constexpr const char *name = "fmod";
  template <typename T> static T ofIntegers(T a, T b) { return a % b; }
  template <typename T> static T ofNegated(T) { return 0; }
  template <typename T> static T ofFloats(T, T, T rest) { return rest; }
};

template <typename Op> struct OfFloats {
  float operator()(float a, float b) const {
    return Op::ofFloats(a, b, Rest(a, b).value);
  }
  bool isRare(float a, float b) const { return !Rest(a, b).exact; }
  float exact(float a, float b) const {
    return Op::ofFloats(a, b, std::fmod(a, b));
  }
};

template <typename Op, typename T>
PreparedKernel divide(const BroadcastLoops<2> &loops) {
  if constexpr (std::is_same_v<T, double>)
    return broadcast<T, T>(
        loops, [](T a, T b) { return Op::ofFloats(a, b, std::fmod(a, b)); });
  else if constexpr (isFloat<T>)
    return broadcast<T, T>(loops, OfFloats<Op>());
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
