//===- Reduce.cpp - reductions over dims ----------------------------------===//
//
// Sums of floating types accumulate in double, so that the result is the
// correctly rounded sum but for the rarest cases, in any order of dims.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"
#include "dtorch/Runtime/CPU/Math.h"

namespace dtorch::cpu {
namespace {

struct Sum {
  template <typename T>
  using Accumulator = std::conditional_t<
      isFloat<T>, double,
      std::conditional_t<std::is_same_v<T, bool>, bool, uint64_t>>;
  template <typename A> static A identity() { return A(0); }
  template <typename A> static A combine(A a, A b) {
    if constexpr (std::is_same_v<A, bool>)
      return a || b;
    else
      return a + b;
  }
};

struct Max {
  template <typename T> using Accumulator = Compute<T>;
  template <typename A> static A identity() { return lowest<A>(); }
  template <typename A> static A combine(A a, A b) { return maxNaN(a, b); }
};

struct Min {
  template <typename T> using Accumulator = Compute<T>;
  template <typename A> static A identity() { return highest<A>(); }
  template <typename A> static A combine(A a, A b) { return minNaN(a, b); }
};

/// As Sum, of factors.
struct Product {
  template <typename T> using Accumulator = Sum::Accumulator<T>;
  template <typename A> static A identity() { return A(1); }
  template <typename A> static A combine(A a, A b) {
    if constexpr (std::is_same_v<A, bool>)
      return a && b;
    else
      return a * b;
  }
};

/// Over "is not zero".
struct Any {
  template <typename T> using Accumulator = bool;
  template <typename A> static A identity() { return false; }
  template <typename A> static A combine(A a, A b) { return a | b; }
};

struct All {
  template <typename T> using Accumulator = bool;
  template <typename A> static A identity() { return true; }
  template <typename A> static A combine(A a, A b) { return a & b; }
};

/// Dims of the operand split into kept and reduced ones, neighbours merged. The
/// innermost one is a contiguous run of `run` elements of either sort.
struct ReduceLoops {
  Shape keptSizes, keptStrides, reducedSizes, reducedStrides;
  int64_t run = 1;
  bool runIsKept = false;

  ReduceLoops(const Shape &shape, const Shape &dims) {
    Shape strides = rowMajorStrides(shape);
    bool first = true;
    int lastKept = -1; // sort of the dim merged last
    for (size_t d = shape.size(); d-- > 0;) {
      bool kept = std::find(dims.begin(), dims.end(), int64_t(d)) == dims.end();
      if (first) {
        run = shape[d];
        runIsKept = kept;
        first = false;
      } else if (keptSizes.empty() && reducedSizes.empty() &&
                 kept == runIsKept) {
        run *= shape[d];
      } else {
        Shape &sizes = kept ? keptSizes : reducedSizes;
        Shape &steps = kept ? keptStrides : reducedStrides;
        if (lastKept == int(kept)) {
          sizes.back() *= shape[d];
        } else {
          sizes.push_back(shape[d]);
          steps.push_back(strides[d]);
        }
        lastKept = kept;
      }
    }
    for (Shape *list :
         {&keptSizes, &keptStrides, &reducedSizes, &reducedStrides})
      std::reverse(list->begin(), list->end());
  }
};

template <typename Op, typename T> auto reduceRun(const T *x, int64_t n) {
  using A = typename Op::template Accumulator<T>;
  constexpr int lanes = 16;
  A partial[lanes];
  for (A &value : partial)
    value = Op::template identity<A>();
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int l = 0; l < lanes; ++l)
      partial[l] = Op::combine(partial[l], convert<A>(x[i + l]));
  for (int l = 0; i < n; ++i, ++l)
    partial[l] = Op::combine(partial[l], convert<A>(x[i]));
  A result = partial[0];
  for (int l = 1; l < lanes; ++l)
    result = Op::combine(result, partial[l]);
  return result;
}

template <typename Op, typename T, typename Out>
void reduceRows(const ReduceLoops &loops, const T *x, Out *y) {
  using A = typename Op::template Accumulator<T>;
  forEachOffset(loops.keptSizes, loops.keptStrides, [&](int64_t kept) {
    A result = Op::template identity<A>();
    forEachOffset(
        loops.reducedSizes, loops.reducedStrides, [&](int64_t reduced) {
          result =
              Op::combine(result, reduceRun<Op>(x + kept + reduced, loops.run));
        });
    *y++ = convert<Out>(result);
  });
}

template <typename Op, typename T, typename Out>
void reduceColumns(const ReduceLoops &loops, const T *x, Out *y) {
  using A = typename Op::template Accumulator<T>;
  constexpr int64_t tile = 256;
  A partial[tile];
  forEachOffset(loops.keptSizes, loops.keptStrides, [&](int64_t kept) {
    for (int64_t begin = 0; begin < loops.run; begin += tile) {
      int64_t width = std::min(tile, loops.run - begin);
      for (int64_t j = 0; j < width; ++j)
        partial[j] = Op::template identity<A>();
      forEachOffset(
          loops.reducedSizes, loops.reducedStrides, [&](int64_t reduced) {
            const T *row = x + kept + reduced + begin;
            for (int64_t j = 0; j < width; ++j)
              partial[j] = Op::combine(partial[j], convert<A>(row[j]));
          });
      for (int64_t j = 0; j < width; ++j)
        *y++ = convert<Out>(partial[j]);
    }
  });
}

template <typename Op, typename T, typename Out = T>
PreparedKernel reduceOf(const ReduceLoops &loops) {
  return [loops](const void *const *inputs, void *const *outputs) {
    if (loops.runIsKept)
      reduceColumns<Op>(loops, in<T>(inputs, 0), out<Out>(outputs));
    else
      reduceRows<Op>(loops, in<T>(inputs, 0), out<Out>(outputs));
  };
}

PreparedKernel prepareReduce(const KernelSpec &spec) {
  const std::string &kind = spec.attrs.getString("kind");
  if (spec.outputs[0].box.empty())
    return doNothing();
  bool logical = kind == "any" || kind == "all";
  if (spec.outputs[0].dtype != (logical ? DType::Bool : spec.inputs[0].dtype))
    throwAbsent("reduce " + kind, spec.outputs[0].dtype);
  ReduceLoops loops(spec.inputs[0].local(), spec.attrs.getInts("dims"));
  PreparedKernel kernel =
      dispatch(spec.inputs[0].dtype, [&](auto tag) -> PreparedKernel {
        using T = typename decltype(tag)::type;
        if (kind == "sum")
          return reduceOf<Sum, T>(loops);
        if (kind == "amax")
          return reduceOf<Max, T>(loops);
        if (kind == "amin")
          return reduceOf<Min, T>(loops);
        if (kind == "prod")
          return reduceOf<Product, T>(loops);
        if (kind == "any")
          return reduceOf<Any, T, bool>(loops);
        if (kind == "all")
          return reduceOf<All, T, bool>(loops);
        return nullptr;
      });
  if (!kernel)
    throwAbsent("reduce " + kind, spec.inputs[0].dtype);
  return kernel;
}

DTORCH_CPU_KERNEL("reduce", prepareReduce);

} // namespace
} // namespace dtorch::cpu
