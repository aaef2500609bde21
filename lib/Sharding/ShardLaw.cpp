//===- ShardLaw.cpp - which elements a device holds -----------------------===//

#include "dtorch/Sharding/ShardLaw.h"

#include <algorithm>

using namespace dtorch;

Interval dtorch::shardOf(Interval whole, int64_t k, int64_t r, int64_t unit) {
  int64_t blocks = whole.size / unit;
  int64_t each = blocks / k, extra = blocks % k;
  return {whole.offset + (r * each + std::min(r, extra)) * unit,
          (each + (r < extra)) * unit};
}

Interval dtorch::localInterval(int64_t n, int64_t dim, const Sharding &sharding,
                               std::span<const int64_t> coordinates) {
  Interval interval{0, n};
  for (size_t axis = 0; axis < sharding.placements.size(); ++axis) {
    const Placement &p = sharding.placements[axis];
    if (p.isShard(dim))
      interval = shardOf(interval, sharding.mesh->axisSize(axis),
                         coordinates[axis], p.unit);
  }
  return interval;
}

Box dtorch::localBox(std::span<const int64_t> shape, const Sharding &sharding,
                     std::span<const int64_t> coordinates) {
  Box box{Shape(shape.size(), 0), Shape(shape.begin(), shape.end())};
  for (size_t axis = 0; axis < sharding.placements.size(); ++axis) {
    const Placement &p = sharding.placements[axis];
    if (!p.isShard())
      continue;
    Interval part =
        shardOf({box.offset[p.dim], box.size[p.dim]},
                sharding.mesh->axisSize(axis), coordinates[axis], p.unit);
    box.offset[p.dim] = part.offset;
    box.size[p.dim] = part.size;
  }
  return box;
}

Box dtorch::intersect(const Box &a, const Box &b) {
  Box out{Shape(a.size.size()), Shape(a.size.size())};
  for (size_t d = 0; d < a.size.size(); ++d) {
    out.offset[d] = std::max(a.offset[d], b.offset[d]);
    out.size[d] = std::max<int64_t>(
        0, std::min(a.offset[d] + a.size[d], b.offset[d] + b.size[d]) -
               out.offset[d]);
  }
  return out;
}

Shape dtorch::maxLocalShape(std::span<const int64_t> shape,
                            const Sharding &sharding) {
  // Device 0 of every axis holds the largest part.
  return localBox(shape, sharding, Shape(sharding.placements.size(), 0)).size;
}

Shape dtorch::localTypeShape(std::span<const int64_t> shape,
                             const Sharding &sharding) {
  // The last device of every axis holds the smallest part.
  Shape last(sharding.placements.size());
  for (size_t axis = 0; axis < last.size(); ++axis)
    last[axis] = sharding.mesh->axisSize(axis) - 1;
  Shape smallest = localBox(shape, sharding, last).size;
  Shape sizes = maxLocalShape(shape, sharding);
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != smallest[d])
      sizes[d] = -1;
  return sizes;
}
