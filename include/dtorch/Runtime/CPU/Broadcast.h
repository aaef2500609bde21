//===- Broadcast.h - loops over two broadcast operands --------------------===//
#pragma once

#include "dtorch/Runtime/CPU/Kernel.h"

namespace dtorch::cpu {

/// The loop nest of a broadcast binary op: dims merged as far as strides allow,
/// the innermost one run as a block whose operand strides are 0 or 1.
struct BroadcastLoops {
  Shape sizes, lhsSteps, rhsSteps; ///< outer dims, in elements
  int64_t inner = 1;
  bool lhsMoves = false, rhsMoves = false; ///< along the innermost dim
  bool empty = false;

  BroadcastLoops(const TensorSpec &lhs, const TensorSpec &rhs,
                 const TensorSpec &result);

  /// Calls `body(lhs offset, rhs offset, result offset)` per inner run.
  template <typename Body> void forEach(Body body) const {
    if (empty)
      return;
    Shape index(sizes.size(), 0);
    int64_t lhs = 0, rhs = 0, result = 0;
    while (true) {
      body(lhs, rhs, result);
      result += inner;
      size_t d = sizes.size();
      for (; d-- > 0;) {
        lhs += lhsSteps[d];
        rhs += rhsSteps[d];
        if (++index[d] < sizes[d])
          break;
        lhs -= lhsSteps[d] * sizes[d];
        rhs -= rhsSteps[d] * sizes[d];
        index[d] = 0;
      }
      if (d == static_cast<size_t>(-1))
        return;
    }
  }
};

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
PreparedKernel broadcast(const BroadcastLoops &loops, F f) {
  return [loops, f](const void *const *inputs, void *const *outputs) {
    const T *a = in<T>(inputs, 0), *b = in<T>(inputs, 1);
    Out *y = out<Out>(outputs);
    loops.forEach([&](int64_t l, int64_t r, int64_t o) {
      if constexpr (is16Bit<T>)
        runInner16(a + l, b + r, y + o, loops.inner, loops.lhsMoves,
                   loops.rhsMoves, f);
      else
        runInner(a + l, b + r, y + o, loops.inner, loops.lhsMoves,
                 loops.rhsMoves, f);
    });
  };
}

/// The kinds of each file; null where the kind is another file's.
PreparedKernel prepareArithmetic(const std::string &kind,
                                 const KernelSpec &spec,
                                 const BroadcastLoops &loops);
PreparedKernel prepareComparison(const std::string &kind,
                                 const KernelSpec &spec,
                                 const BroadcastLoops &loops);

} // namespace dtorch::cpu
