//===- ArgReduce.cpp - where an extremum stands ---------------------------===//
//
// A NaN is the extremum; among equals the first one counts.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"
#include "dtorch/Runtime/CPU/Math.h"

namespace dtorch::cpu {
namespace {

template <typename C> bool isNaN(C x) { return x != x; }

struct Largest {
  template <typename C> static C identity() { return lowest<C>(); }
  template <typename C> static C combine(C a, C b) { return maxNaN(a, b); }
  template <typename C> static bool better(C a, C b) { return a > b; }
};

struct Smallest {
  template <typename C> static C identity() { return highest<C>(); }
  template <typename C> static C combine(C a, C b) { return minNaN(a, b); }
  template <typename C> static bool better(C a, C b) { return a < b; }
};

/// The first index whose element `is`; there is one. Blocks are tested without
/// a branch per element.
template <typename T, typename Is>
int64_t firstWhere(const T *x, int64_t n, Is is) {
  constexpr int64_t block = 128;
  int64_t i = 0;
  for (; i + block <= n; i += block) {
    int found = 0;
    for (int64_t j = 0; j < block; ++j)
      found |= is(convert<Compute<T>>(x[i + j]));
    if (found)
      break;
  }
  while (i < n && !is(convert<Compute<T>>(x[i])))
    ++i;
  return i;
}

/// One contiguous row: its extremum, then where that is.
template <typename Op, typename T> int64_t ofRow(const T *x, int64_t n) {
  using C = Compute<T>;
  constexpr int lanes = 32;
  C partial[lanes];
  for (C &value : partial)
    value = Op::template identity<C>();
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int l = 0; l < lanes; ++l)
      partial[l] = Op::combine(partial[l], convert<C>(x[i + l]));
  for (int l = 0; i < n; ++i, ++l)
    partial[l] = Op::combine(partial[l], convert<C>(x[i]));
  C extremum = partial[0];
  for (int l = 1; l < lanes; ++l)
    extremum = Op::combine(extremum, partial[l]);
  if (isNaN(extremum))
    return firstWhere(x, n, [](C value) { return isNaN(value); });
  return firstWhere(x, n, [=](C value) { return value == extremum; });
}

/// Over the first dim of an n x inner block, in groups of columns.
template <typename Op, typename T>
void ofColumns(const T *x, int64_t *y, int64_t n, int64_t inner) {
  using C = Compute<T>;
  constexpr int64_t group = 64;
  C best[group];
  for (int64_t begin = 0; begin < inner; begin += group) {
    int64_t width = std::min(group, inner - begin);
    for (int64_t j = 0; j < width; ++j) {
      best[j] = convert<C>(x[begin + j]);
      y[begin + j] = 0;
    }
    for (int64_t i = 1; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) {
        C value = convert<C>(x[i * inner + begin + j]);
        int wins = int(Op::better(value, best[j])) |
                   (int(isNaN(value)) & int(!isNaN(best[j])));
        best[j] = wins ? value : best[j];
        y[begin + j] = wins ? i : y[begin + j];
      }
  }
}

template <typename Op>
PreparedKernel prepareFor(const TensorSpec &input, int64_t dim) {
  const Shape &shape = input.local();
  int64_t n = shape[dim], outer = product(shape, 0, dim);
  int64_t inner = product(shape, dim + 1, shape.size());
  return dispatch(input.dtype, [&](auto tag) -> PreparedKernel {
    using T = typename decltype(tag)::type;
    return [=](const void *const *inputs, void *const *outputs) {
      const T *x = in<T>(inputs, 0);
      int64_t *y = out<int64_t>(outputs);
      for (int64_t o = 0; o < outer; ++o, x += n * inner, y += inner)
        if (inner == 1)
          *y = ofRow<Op>(x, n);
        else
          ofColumns<Op>(x, y, n, inner);
    };
  });
}

PreparedKernel prepareArgReduce(const KernelSpec &spec) {
  const std::string &kind = spec.attrs.getString("kind");
  int64_t dim = spec.attrs.getInt("dim");
  if (spec.outputs[0].box.empty())
    return doNothing();
  if (spec.inputs[0].global[dim] == 0)
    throw Error(kind + ": dim " + std::to_string(dim) +
                    " must have at least one element, got 0",
                ErrorKind::Index);
  return kind == "argmax" ? prepareFor<Largest>(spec.inputs[0], dim)
                          : prepareFor<Smallest>(spec.inputs[0], dim);
}

DTORCH_CPU_KERNEL("arg_reduce", prepareArgReduce);

} // namespace
} // namespace dtorch::cpu
