//===- Types.h - element types of the CPU kernels -------------------------===//
//
// 16-bit floating types are storage only: kernels convert to float, compute,
// and round once. All conversions here are plain code that loops vectorise.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Support/DType.h"
#include "dtorch/Support/Error.h"

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

namespace dtorch::cpu {

struct BFloat16 {
  uint16_t bits;
};
using Half = _Float16;

inline float widen(BFloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

/// Rounds to nearest even; a NaN stays a (quiet) NaN.
inline BFloat16 narrow(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;
  return {static_cast<uint16_t>(x != x ? quiet : rounded)};
}

template <typename T>
constexpr bool is16Bit = std::is_same_v<T, BFloat16> || std::is_same_v<T, Half>;
template <typename T>
constexpr bool isFloat = is16Bit<T> || std::is_floating_point_v<T>;

/// The type a kernel computes in.
template <typename T> using Compute = std::conditional_t<is16Bit<T>, float, T>;

/// Conversion between any two element types; to bool it asks "is not zero", to
/// integers it truncates.
template <typename To, typename From> inline To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, BFloat16>)
    return convert<To>(widen(x));
  else if constexpr (std::is_same_v<To, BFloat16>)
    return narrow(convert<float>(x));
  else if constexpr (std::is_same_v<To, Half> && std::is_same_v<From, double>)
    return static_cast<Half>(x); // one rounding, not two
  else if constexpr (std::is_same_v<To, bool>)
    return x != From(0);
  else if constexpr (std::is_same_v<From, Half> && !std::is_same_v<To, double>)
    return static_cast<To>(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

template <typename T> struct Tag {
  using type = T;
};

/// Calls `f` with the Tag of the element type.
template <typename F> decltype(auto) dispatch(DType dtype, F &&f) {
  switch (dtype) {
  case DType::Bool:
    return f(Tag<bool>());
  case DType::Int32:
    return f(Tag<int32_t>());
  case DType::Int64:
    return f(Tag<int64_t>());
  case DType::Float16:
    return f(Tag<Half>());
  case DType::BFloat16:
    return f(Tag<BFloat16>());
  case DType::Float32:
    return f(Tag<float>());
  case DType::Float64:
    return f(Tag<double>());
  }
  __builtin_unreachable();
}

/// The error of a kernel that does not take an element type.
[[noreturn]] inline void throwAbsent(const std::string &op, DType dtype) {
  throw Error(op + ": has no kernel for " + std::string(toString(dtype)) +
                  "; cast the operand first",
              ErrorKind::Absent);
}

/// Like dispatch, for floating types only.
template <typename F>
decltype(auto) dispatchFloat(const std::string &op, DType dtype, F &&f) {
  switch (dtype) {
  case DType::Float16:
    return f(Tag<Half>());
  case DType::BFloat16:
    return f(Tag<BFloat16>());
  case DType::Float32:
    return f(Tag<float>());
  case DType::Float64:
    return f(Tag<double>());
  default:
    throwAbsent(op, dtype);
  }
}

/// Calls `f` with the Tag of the unsigned type of that size, for kernels that
/// only move elements.
template <typename F> decltype(auto) dispatchWord(DType dtype, F &&f) {
  switch (itemSize(dtype)) {
  case 1:
    return f(Tag<uint8_t>());
  case 2:
    return f(Tag<uint16_t>());
  case 4:
    return f(Tag<uint32_t>());
  default:
    return f(Tag<uint64_t>());
  }
}

} // namespace dtorch::cpu
