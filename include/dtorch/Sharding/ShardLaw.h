//===- ShardLaw.h - which elements a device holds -------------------------===//
//
// The one law of the whole system. A dim of n elements over k devices gives
// device r n/k + (r < n%k) elements from r*(n/k) + min(r, n%k) on. With a unit
// u the law splits the n/u blocks instead. Several axes on one dim split one
// after the other in mesh order, outermost first.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Sharding/Sharding.h"

namespace dtorch {

/// A half-open range of indices along one dim.
struct Interval {
  int64_t offset = 0, size = 0;
  int64_t end() const { return offset + size; }
  bool operator==(const Interval &) const = default;
};

/// Part `r` of `k` of the interval, in blocks of `unit` elements (which must
/// divide its size).
Interval shardOf(Interval whole, int64_t k, int64_t r, int64_t unit = 1);

/// A box of a tensor: one interval per dim.
struct Box {
  Shape offset, size;
  int64_t numElements() const { return dtorch::numElements(size); }
  bool empty() const { return numElements() == 0; }
  bool operator==(const Box &) const = default;
};

/// The interval of tensor dim `dim` (n elements) held at mesh coordinates.
Interval localInterval(int64_t n, int64_t dim, const Sharding &sharding,
                       std::span<const int64_t> coordinates);

/// The box of the tensor held at mesh coordinates. Pending axes hold the whole
/// extent. The host mesh has no coordinates and holds everything.
Box localBox(std::span<const int64_t> shape, const Sharding &sharding,
             std::span<const int64_t> coordinates);

/// Common part of two boxes of one tensor; sizes are 0 where they are disjoint.
Box intersect(const Box &a, const Box &b);

/// Per dim the largest local size over all devices.
Shape maxLocalShape(std::span<const int64_t> shape, const Sharding &sharding);

/// Per dim the local size, or -1 where devices differ: the `?` of local types.
Shape localTypeShape(std::span<const int64_t> shape, const Sharding &sharding);

} // namespace dtorch
