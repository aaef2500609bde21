//===- Broadcast.h - loops over broadcast operands ------------------------===//
#pragma once

#include "dtorch/Runtime/CPU/Kernel.h"

#include <array>

namespace dtorch::cpu {

/// The loop nest of an elementwise op of N broadcast operands: dims merged as
/// far as strides allow, the innermost one run as a block whose operand strides
/// are 0 or 1.
template <size_t N> struct BroadcastLoops {
  Shape sizes;                 ///< outer dims
  std::array<Shape, N> steps;  ///< per operand, in elements
  std::array<bool, N> moves{}; ///< along the innermost dim
  int64_t inner = 1;
  bool empty = false;

  /// The first N inputs, broadcast to the result.
  explicit BroadcastLoops(const KernelSpec &spec);

  /// Calls `body(operand offsets, result offset)` per inner run.
  template <typename Body> void forEach(Body body) const {
    if (empty)
      return;
    Shape index(sizes.size(), 0);
    std::array<int64_t, N> at{};
    int64_t result = 0;
    while (true) {
      body(at, result);
      result += inner;
      size_t d = sizes.size();
      for (; d-- > 0;) {
        for (size_t i = 0; i < N; ++i)
          at[i] += steps[i][d];
        if (++index[d] < sizes[d])
          break;
        for (size_t i = 0; i < N; ++i)
          at[i] -= steps[i][d] * sizes[d];
        index[d] = 0;
      }
      if (d == static_cast<size_t>(-1))
        return;
    }
  }
};

extern template struct BroadcastLoops<2>;
extern template struct BroadcastLoops<3>;

/// A function that is fast but for operands for which `isRare`; those take
/// `exact`. Loops over the
/// others vectorise.
template <typename F>
concept HasRareOperands = requires(const F &f) { f.isRare(0.0f, 0.0f); };

/// y = f(a, b) over one inner run. Three loops, so that each vectorises.
template <typename T, typename Out, typename F>
void runInner(const T *a, const T *b, Out *y, int64_t n, bool aMoves,
              bool bMoves, F f) {
  if (aMoves && bMoves) {
    for (int64_t i = 0; i < n; ++i)
      y[i] = f(a[i], b[i]);
  } else if (aMoves) {
    T right = *b;
    for (int64_t i = 0; i < n; ++i)
      y[i] = f(a[i], right);
  } else if (bMoves) {
    T left = *a;
    for (int64_t i = 0; i < n; ++i)
      y[i] = f(left, b[i]);
  } else {
    Out value = f(*a, *b);
    for (int64_t i = 0; i < n; ++i)
      y[i] = value;
  }
  if constexpr (HasRareOperands<F>) {
    int found = 0;
    for (int64_t i = 0; i < n; ++i)
      found |= int(f.isRare(a[aMoves ? i : 0], b[bMoves ? i : 0]));
    for (int64_t i = 0; found && i < n; ++i)
      if (T left = a[aMoves ? i : 0], right = b[bMoves ? i : 0];
          f.isRare(left, right))
        y[i] = f.exact(left, right);
  }
}

/// 16-bit operands: widened in chunks to float, and narrowed if Out is 16 bits.
template <typename T, typename Out, typename F>
void runInner16(const T *a, const T *b, Out *y, int64_t n, bool aMoves,
                bool bMoves, F f) {
  constexpr int64_t chunk = 512;
  using Result = decltype(f(0.0f, 0.0f));
  float left[chunk], right[chunk];
  Result value[chunk];
  auto widenAll = [](const T *x, float *wide, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      wide[i] = convert<float>(x[i]);
  };
  widenAll(a, left, 1);
  widenAll(b, right, 1);
  for (int64_t begin = 0; begin < n; begin += chunk) {
    int64_t count = std::min(chunk, n - begin);
    if (aMoves)
      widenAll(a + begin, left, count);
    if (bMoves)
      widenAll(b + begin, right, count);
    runInner(left, right, value, count, aMoves, bMoves, f);
    for (int64_t i = 0; i < count; ++i)
      y[begin + i] = convert<Out>(value[i]);
  }
}

/// Binds f over operands of type T and a result of type Out.
template <typename T, typename Out, typename F>
PreparedKernel broadcast(const BroadcastLoops<2> &loops, F f) {
  return [loops, f](const void *const *inputs, void *const *outputs) {
    const T *a = in<T>(inputs, 0), *b = in<T>(inputs, 1);
    Out *y = out<Out>(outputs);
    loops.forEach([&](const std::array<int64_t, 2> &at, int64_t o) {
      if constexpr (is16Bit<T>)
        runInner16(a + at[0], b + at[1], y + o, loops.inner, loops.moves[0],
                   loops.moves[1], f);
      else
        runInner(a + at[0], b + at[1], y + o, loops.inner, loops.moves[0],
                 loops.moves[1], f);
    });
  };
}

/// The kinds of each file; null where the kind is another file's.
PreparedKernel prepareArithmetic(const std::string &kind,
                                 const KernelSpec &spec,
                                 const BroadcastLoops<2> &loops);
PreparedKernel prepareComparison(const std::string &kind,
                                 const KernelSpec &spec,
                                 const BroadcastLoops<2> &loops);
PreparedKernel prepareDivision(const std::string &kind, const KernelSpec &spec,
                               const BroadcastLoops<2> &loops);

} // namespace dtorch::cpu
