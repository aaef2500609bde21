//===- Random.cpp - random numbers keyed by global element index ----------===//
#include "dtorch/Runtime/CPU/GlobalRuns.h"
#include "dtorch/Runtime/CPU/Math.h"
#include "dtorch/Runtime/Philox.h"

namespace dtorch::cpu {
namespace {

/// The values of 4 * groups consecutive elements, in the type they are computed
/// in (float, or double for float64 tensors).
constexpr int groups = 64;

/// [0, 1) with as many bits as the type can hold without rounding up to 1.
template <typename T> Compute<T> uniformOf(uint32_t word) {
  using C = Compute<T>;
  constexpr int bits = std::is_same_v<T, double>     ? 32
                       : std::is_same_v<T, float>    ? 24
                       : std::is_same_v<T, BFloat16> ? 8
                                                     : 11;
  return C(word >> (32 - bits)) / C(uint64_t(1) << bits);
}

/// ln x for positive normal x: x = 2^e m with m near 1, then the series of
/// 2 atanh((m - 1) / (m + 1)).
inline float logPositive(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  // Offsets the exponent so that m lies in [0.75, 1.5).
  uint32_t shifted = bits - 0x3f400000u;
  int32_t exponent = static_cast<int32_t>(shifted) >> 23;
  float m =
      std::bit_cast<float>(bits - (static_cast<uint32_t>(exponent) << 23));
  float s = (m - 1.0f) / (m + 1.0f), q = s * s;
  float series = 1.0f / 11;
  for (float c : {1.0f / 9, 1.0f / 7, 1.0f / 5, 1.0f / 3})
    series = std::fma(series, q, c);
  return std::fma(float(exponent), 0.69314718f,
                  2.0f * std::fma(s * q, series, s));
}
inline double logPositive(double x) { return std::log(x); }

/// Sine and cosine of word / 2^32 turns. The quarter turn is exact integer
/// arithmetic; the rest, within an eighth of a turn, is a Taylor series.
inline void turn(uint32_t word, float &sine, float &cosine) {
  uint32_t quarter = (word + 0x20000000u) >> 30;
  float x = float(static_cast<int32_t>(word - (quarter << 30))) *
            float(6.283185307179586 / 4294967296.0);
  float q = x * x;
  float s = 1.0f / 362880, c = -1.0f / 3628800;
  for (float k : {-1.0f / 5040, 1.0f / 120, -1.0f / 6})
    s = std::fma(s, q, k);
  for (float k : {1.0f / 40320, -1.0f / 720, 1.0f / 24, -0.5f})
    c = std::fma(c, q, k);
  s = std::fma(s * q, x, x);
  c = std::fma(c, q, 1.0f);
  bool swap = quarter & 1;
  float first = swap ? c : s, second = swap ? s : c;
  sine = quarter & 2 ? -first : first;
  cosine = (quarter + 1) & 2 ? -second : second;
}
inline void turn(uint32_t word, double &sine, double &cosine) {
  double angle = double(word) * (6.283185307179586476925 / 4294967296.0);
  sine = std::sin(angle);
  cosine = std::cos(angle);
}

/// Box-Muller: two words give two normal numbers.
template <typename C> void normalOf(uint32_t a, uint32_t b, C &x, C &y) {
  C unit = (C(a) + C(1)) * C(1.0 / 4294967296.0); // (0, 1]
  C radius = std::sqrt(C(-2) * logPositive(unit));
  C sine, cosine;
  turn(b, sine, cosine);
  x = radius * cosine;
  y = radius * sine;
}

template <typename T>
void generate(bool normal, uint64_t seed, uint64_t offset, uint64_t firstGroup,
              Compute<T> (&values)[4 * groups]) {
  uint32_t words[4][groups];
  for (int g = 0; g < groups; ++g) {
    PhiloxWords four = philox(seed, firstGroup + g, offset);
    for (int k = 0; k < 4; ++k)
      words[k][g] = four.w[k];
  }
  if (!normal) {
    for (int g = 0; g < groups; ++g)
      for (int k = 0; k < 4; ++k)
        values[4 * g + k] = uniformOf<T>(words[k][g]);
    return;
  }
  Compute<T> normals[4][groups];
  for (int g = 0; g < groups; ++g)
    normalOf(words[0][g], words[1][g], normals[0][g], normals[1][g]);
  for (int g = 0; g < groups; ++g)
    normalOf(words[2][g], words[3][g], normals[2][g], normals[3][g]);
  for (int g = 0; g < groups; ++g)
    for (int k = 0; k < 4; ++k)
      values[4 * g + k] = normals[k][g];
}

/// Elements [begin, begin + n) of the global tensor.
template <typename T>
void fill(bool normal, uint64_t seed, uint64_t offset, int64_t begin, int64_t n,
          T *y) {
  Compute<T> values[4 * groups];
  int64_t end = begin + n;
  for (int64_t at = begin; at < end;) {
    int64_t base = at / 4 * 4;
    generate<T>(normal, seed, offset, base / 4, values);
    int64_t stop = std::min<int64_t>(end, base + 4 * groups);
    for (int64_t i = at; i < stop; ++i)
      *y++ = convert<T>(values[i - base]);
    at = stop;
  }
}

PreparedKernel prepareRandom(const KernelSpec &spec) {
  const TensorSpec &result = spec.outputs[0];
  const std::string &kind = spec.attrs.getString("kind");
  bool normal = kind == "normal";
  if (!normal && kind != "uniform")
    throw Error("random: kind is \"normal\" or \"uniform\", got \"" + kind +
                "\"");
  requireDType("random: seed", spec.inputs[0], DType::Int64);
  requireDType("random: offset", spec.inputs[1], DType::Int64);
  if (result.box.empty())
    return doNothing();
  GlobalRuns runs(result);
  return dispatchFloat("random", result.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return PreparedKernel([=](const void *const *inputs, void *const *outputs) {
      T *y = out<T>(outputs);
      runs.forEach([&](int64_t begin, int64_t n) {
        fill(normal, *in<int64_t>(inputs, 0), *in<int64_t>(inputs, 1), begin, n,
             y);
        y += n;
      });
    });
  });
}

DTORCH_CPU_KERNEL("random", prepareRandom);

} // namespace
} // namespace dtorch::cpu
