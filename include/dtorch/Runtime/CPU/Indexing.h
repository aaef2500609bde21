//===- Indexing.h - what kernels with index tensors share -----------------===//
#pragma once

#include "dtorch/Runtime/CPU/Kernel.h"

namespace dtorch::cpu {

[[noreturn]] void throwOutside(const char *op, int64_t index, int64_t n);

/// An index tensor's numbers along a dim of n elements, of which the box holds
/// [begin, begin + size). Negative ones count from the end.
struct IndexRange {
  const char *op;
  int64_t n, begin, size;

  IndexRange(const char *op, const TensorSpec &tensor, int64_t dim)
      : op(op), n(tensor.global[dim]), begin(tensor.box.offset[dim]),
        size(tensor.box.size[dim]) {}

  bool isWhole() const { return size == n; }
  int64_t wrap(int64_t index) const { return index < 0 ? index + n : index; }

  /// Throws the error of the first index outside [-n, n); vectorises.
  template <typename Index>
  void check(const Index *index, int64_t count) const {
    int outside = 0;
    for (int64_t i = 0; i < count; ++i)
      outside |= int(index[i] < -n) | int(index[i] >= n);
    for (int64_t i = 0; outside && i < count; ++i)
      place(index[i]);
  }

  /// The place within the box, or one outside [0, size).
  int64_t place(int64_t index) const {
    if (index < -n || index >= n)
      throwOutside(op, index, n);
    return wrap(index) - begin;
  }
  bool holds(int64_t place) const { return place >= 0 && place < size; }
};

/// Throws Error (Placement) naming the op, the dim and what is asked of it.
[[noreturn]] void throwUnfit(const char *op, size_t dim, const char *rule);

/// Calls `f` with the Tag of an index tensor's element type.
template <typename F>
decltype(auto) dispatchIndex(const char *op, DType dtype, F &&f) {
  if (dtype == DType::Int32)
    return f(Tag<int32_t>());
  if (dtype == DType::Int64)
    return f(Tag<int64_t>());
  throwAbsent(std::string(op) + " with an index", dtype);
}

} // namespace dtorch::cpu
