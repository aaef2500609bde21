//===- Math.h - functions that loops vectorise ----------------------------===//
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dtorch::cpu {

/// e^x within 2 ulp, without branches so that loops over it vectorise. Range
/// reduction x = n ln 2 + r with |r| <= ln 2 / 2, then the Taylor series to
/// r^7 (the next term is below 2^-27), then a scaling by 2^n in two halves so
/// that denormal and infinite results come out right.
inline float fastExp(float x) {
  constexpr float log2e = 0x1.715476p+0f;
  constexpr float ln2High = 0x1.62e4p-1f; // n * ln2High is exact
  constexpr float ln2Low = 0x1.7f7d1cp-20f;
  constexpr float magic = 0x1.8p+23f; // adding it rounds to an integer
  // Comparisons that are false for NaN, which therefore passes through.
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  float shifted = std::fma(x, log2e, magic);
  float n = shifted - magic;
  float r = std::fma(-n, ln2High, x);
  r = std::fma(-n, ln2Low, r);
  float p = 1.0f / 5040;
  p = std::fma(p, r, 1.0f / 720);
  p = std::fma(p, r, 1.0f / 120);
  p = std::fma(p, r, 1.0f / 24);
  p = std::fma(p, r, 1.0f / 6);
  p = std::fma(p, r, 0.5f);
  p = std::fma(p, r, 1.0f);
  p = std::fma(p, r, 1.0f);
  // The low bits of `shifted` are n; integer arithmetic keeps NaN harmless.
  int32_t power =
      std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(magic);
  int32_t half = power >> 1;
  auto scale = [](int32_t e) {
    return std::bit_cast<float>(static_cast<uint32_t>(e + 127) << 23);
  };
  return p * scale(half) * scale(power - half);
}
inline double fastExp(double x) { return std::exp(x); }

template <typename T> inline T sigmoid(T x) {
  return T(1) / (T(1) + fastExp(-x));
}
template <typename T> inline T silu(T x) { return x / (T(1) + fastExp(-x)); }

/// Maximum and minimum that propagate NaN, as PyTorch's do.
template <typename T> inline T maxNaN(T a, T b) {
  if constexpr (std::numeric_limits<T>::has_quiet_NaN)
    return a > b || a != a ? a : b;
  else
    return a > b ? a : b;
}
template <typename T> inline T minNaN(T a, T b) {
  if constexpr (std::numeric_limits<T>::has_quiet_NaN)
    return a < b || a != a ? a : b;
  else
    return a < b ? a : b;
}

/// Identities of max and min.
template <typename T> constexpr T lowest() {
  if constexpr (std::numeric_limits<T>::has_infinity)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::lowest();
}
template <typename T> constexpr T highest() {
  if constexpr (std::numeric_limits<T>::has_infinity)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}

/// Sums and maxima over contiguous values in `Lanes` independent chains, which
/// both vectorises and keeps the rounding error of a sum small.
template <typename T, typename Read, int Lanes = 32>
inline T laneSum(int64_t n, Read read) {
  T lanes[Lanes] = {};
  int64_t i = 0;
  for (; i + Lanes <= n; i += Lanes)
    for (int l = 0; l < Lanes; ++l)
      lanes[l] += read(i + l);
  for (int l = 0; i < n; ++i, ++l)
    lanes[l] += read(i);
  for (int width = Lanes / 2; width; width /= 2)
    for (int l = 0; l < width; ++l)
      lanes[l] += lanes[l + width];
  return lanes[0];
}

/// Maximum ignoring NaN (softmax: a NaN enters through the exponentials).
template <typename T, int Lanes = 32> inline T laneMax(const T *x, int64_t n) {
  T lanes[Lanes];
  for (int l = 0; l < Lanes; ++l)
    lanes[l] = lowest<T>();
  int64_t i = 0;
  for (; i + Lanes <= n; i += Lanes)
    for (int l = 0; l < Lanes; ++l)
      lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  for (int l = 0; i < n; ++i, ++l)
    lanes[l] = x[i] > lanes[l] ? x[i] : lanes[l];
  T result = lanes[0];
  for (int l = 1; l < Lanes; ++l)
    result = lanes[l] > result ? lanes[l] : result;
  return result;
}

} // namespace dtorch::cpu
