//===- Elementary.h - logarithms, circular and other functions ------------===//
//
// fp32 functions within about 2 ulp, without branches so that loops over them
// vectorise; an element gives the same bits wherever it stands. fp64 goes to
// the C library. See Math.h for the exponential.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Runtime/CPU/Math.h"

namespace dtorch::cpu {

/// Coefficients from the constant one up.
template <typename T, int N> inline T horner(T x, const T (&coefficients)[N]) {
  T sum = coefficients[N - 1];
  for (int i = N - 2; i >= 0; --i)
    sum = std::fma(sum, x, coefficients[i]);
  return sum;
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// x = 2^exponent m with m in [0.75, 1.5), and ln m = 2 atanh((m - 1) / (m +
/// 1)) by its series.
struct LogParts {
  float exponent, log;

  explicit LogParts(float x) {
    bool tiny = x < std::numeric_limits<float>::min();
    uint32_t bits = std::bit_cast<uint32_t>(tiny ? x * 0x1p+23f : x);
    uint32_t shifted = bits - 0x3f400000u; // the bits of 0.75
    int32_t power = static_cast<int32_t>(shifted) >> 23;
    float m = std::bit_cast<float>(bits - (static_cast<uint32_t>(power) << 23));
    float f = m - 1.0f, s = f / (m + 1.0f), q = s * s;
    float series =
        horner(q, {2.0f / 3, 2.0f / 5, 2.0f / 7, 2.0f / 9, 2.0f / 11});
    // 2 s = f - f s, of which f is exact.
    log = f - s * std::fma(-q, series, f);
    exponent = float(power) - (tiny ? 23.0f : 0.0f);
  }
};

/// The logarithm of what is no positive finite number.
inline float logLimits(float x, float log) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  log = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : log;
  log = x == 0.0f ? -infinity : log;
  return x == infinity || x != x ? x : log;
}

inline float fastLog(float x) {
  LogParts parts(x);
  float low = std::fma(parts.exponent, 0x1.7f7d1cp-20f, parts.log);
  return logLimits(x, std::fma(parts.exponent, 0x1.62e4p-1f, low));
}
inline double fastLog(double x) { return std::log(x); }

inline float fastLog2(float x) {
  LogParts parts(x);
  return logLimits(x, std::fma(parts.log, 0x1.715476p+0f, parts.exponent));
}
inline double fastLog2(double x) { return std::log2(x); }

inline float fastLog10(float x) {
  LogParts parts(x);
  // log10(2) in two parts; the product with the first is exact.
  float low =
      std::fma(parts.exponent, 0x1.3509f8p-18f, parts.log * 0x1.bcb7b2p-2f);
  return logLimits(x, std::fma(parts.exponent, 0x1.344p-2f, low));
}
inline double fastLog10(double x) { return std::log10(x); }

/// ln(1 + x) = ln u + (1 + x - u) / u, where u is 1 + x rounded.
inline float fastLog1p(float x) {
  float u = 1.0f + x, rest = x - (u - 1.0f);
  bool inside = u > 0.0f && u < std::numeric_limits<float>::infinity();
  float correction = inside ? rest / u : 0.0f;
  float log = fastLog(u) + correction;
  return x == 0.0f ? x : log; // keeps the sign of zero
}
inline double fastLog1p(double x) { return std::log1p(x); }

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// e^x - 1 for x in [-20, 24]. With x = n ln 2 + r it is 2^n (e^r - 1) +
/// (2^n - 1).
inline float expm1Within(float x) {
  constexpr float magic = 0x1.8p+23f; // adding it rounds to an integer
  float shifted = std::fma(x, 0x1.715476p+0f, magic);
  float n = shifted - magic;
  float r = std::fma(-n, 0x1.62e4p-1f, x);
  r = std::fma(-n, 0x1.7f7d1cp-20f, r);
  float series = horner(
      r, {0.5f, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040});
  float part = std::fma(r * r, series, r);
  int32_t power =
      std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(magic);
  float scale = std::bit_cast<float>(static_cast<uint32_t>(power + 127) << 23);
  return std::fma(part, scale, scale - 1.0f);
}

/// Above 24 the 1 does not count.
inline float fastExpm1(float x) {
  float clamped = x < -20.0f ? -20.0f : x;
  float result = expm1Within(clamped > 24.0f ? 24.0f : clamped);
  result = x == 0.0f ? x : result; // keeps the sign of zero
  return x > 24.0f ? fastExp(x) : result;
}
inline double fastExpm1(double x) { return std::expm1(x); }

/// tanh |x| = t / (t + 2) with t = e^(2|x|) - 1.
inline float fastTanh(float x) {
  float a = std::abs(x);
  a = a > 10.0f ? 10.0f : a; // 1 from there on
  float t = expm1Within(2.0f * a);
  return std::copysign(t / (t + 2.0f), x);
}
inline double fastTanh(double x) { return std::tanh(x); }

/// A polynomial of x^2 up to 1; above, erfc(a) = e^-g(a) with a polynomial g.
/// Both are least-maximum-error fits, good to 2^-29 of erf.
inline float fastErf(float x) {
  float a = std::abs(x), q = x * x;
  float inner = std::fma(
      x,
      horner(q, {0.1283791065216064f, -0.3761262595653534f, 0.1128358542919159f,
                 -0.026853810995817184f, 0.00518832728266716f,
                 -0.0008010190795175731f, 7.853851275285706e-05f}),
      x);
  float t = (a > 4.0f ? 4.0f : a) - 1.0f;
  float g =
      horner(t, {1.8496055603027344f, 2.638967275619507f, 0.8431146144866943f,
                 0.04151357710361481f, -0.0099105816334486f,
                 0.0018395058577880263f, -0.00018882522999774665f});
  float outer = std::copysign(1.0f - fastExp(-g), x);
  return a > 1.0f ? outer : inner;
}
inline double fastErf(double x) { return std::erf(x); }

template <typename T> inline T gelu(T x) {
  return T(0.5) * x * (T(1) + fastErf(x * T(0.70710678118654752440)));
}

//===----------------------------------------------------------------------===//
// Sine and cosine
//===----------------------------------------------------------------------===//

/// x = n pi/2 + r with |r| <= pi/4, reduced in fp64: exact enough up to
/// `limit`.
struct QuarterTurns {
  static constexpr float limit = 0x1p+50f;
  float sine, cosine; ///< of r
  uint32_t quarter;   ///< n mod 4

  explicit QuarterTurns(float x) {
    constexpr double magic = 0x1.8p+52; // adding it rounds to an integer
    double wide = x, shifted = std::fma(wide, 0x1.45f306dc9c883p-1, magic);
    double n = shifted - magic;
    double rest = std::fma(-n, 0x1.921fb54442d18p+0, wide);
    float r = float(std::fma(-n, 0x1.1a62633145c07p-54, rest));
    quarter = static_cast<uint32_t>(std::bit_cast<uint64_t>(shifted)) & 3;
    float q = r * r;
    float s = horner(q, {-1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880});
    sine = std::fma(s * q, r, r);
    cosine = std::fma(q,
                      horner(q, {-0.5f, 1.0f / 24, -1.0f / 720, 1.0f / 40320,
                                 -1.0f / 3628800}),
                      1.0f);
  }
};

inline float fastSin(float x) {
  QuarterTurns turns(x);
  float value = turns.quarter & 1 ? turns.cosine : turns.sine;
  return turns.quarter & 2 ? -value : value;
}
inline float fastCos(float x) {
  QuarterTurns turns(x);
  float value = turns.quarter & 1 ? turns.sine : turns.cosine;
  return (turns.quarter + 1) & 2 ? -value : value;
}

//===----------------------------------------------------------------------===//
// Powers and remainders
//===----------------------------------------------------------------------===//

/// x^y for positive finite x and finite y, in fp64: 2^(y log2 x).
inline float fastPower(float x, float y) {
  uint64_t bits = std::bit_cast<uint64_t>(double(x));
  int64_t power = static_cast<int64_t>(bits - 0x3fe8000000000000u) >> 52;
  double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(power) << 52));
  double s = (m - 1) / (m + 1), q = s * s;
  constexpr double c = 2.88539008177792681472; // 2 / ln 2
  double log = s * horner(q, {c, c / 3, c / 5, c / 7, c / 9, c / 11, c / 13,
                              c / 15, c / 17, c / 19});
  double t = double(y) * (double(static_cast<int32_t>(power)) + log);
  t = t < -1000.0 ? -1000.0 : t; // rounds to 0 or infinity all the same
  t = t > 1000.0 ? 1000.0 : t;
  constexpr double magic = 0x1.8p+52; // adding it rounds to an integer
  double shifted = t + magic,
         r = (t - (shifted - magic)) * 0.69314718055994530942;
  double e =
      horner(r, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720,
                 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800});
  uint64_t n =
      std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(magic);
  uint64_t scale = (n + 1023) << 52;
  return float(e * std::bit_cast<double>(scale));
}

/// fmod(a, b) in fp64, exact where the quotient is below `limit` and b finite.
struct Rest {
  static constexpr double limit = 0x1p+29;
  float value;
  bool exact;

  Rest(float a, float b) {
    double quotient = double(a) / double(b);
    exact = std::abs(quotient) < limit &&
            std::abs(b) < std::numeric_limits<float>::infinity();
    double rest = std::fma(-std::trunc(quotient), double(b), double(a));
    // The quotient may have been rounded up to an integer.
    double back = rest + std::copysign(double(std::abs(b)), double(a));
    rest = a < 0.0f ? (rest > 0.0 ? back : rest) : (rest < 0.0 ? back : rest);
    value = std::copysign(float(rest), a);
  }
};

} // namespace dtorch::cpu
