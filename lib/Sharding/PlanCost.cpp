//===- PlanCost.cpp - what the devices receive in a step ------------------===//

#include "PlanSteps.h"

#include <algorithm>

using namespace dtorch;
using namespace dtorch::plan_steps;

namespace {

/// Target elements and those of them held already, over some dims, on some
/// device. Missing elements are the difference of the products over all dims,
/// so only pairs that no other pair beats in both numbers matter.
struct Held {
  int64_t target, held;
};

void addToFront(std::vector<Held> &front, Held pair) {
  for (const Held &other : front)
    if (other.target >= pair.target && other.held <= pair.held)
      return;
  std::erase_if(front, [&](const Held &other) {
    return other.target <= pair.target && other.held >= pair.held;
  });
  front.push_back(pair);
}

uint64_t axesOf(const Sharding &sharding, size_t dim) {
  uint64_t axes = 0;
  for (size_t a = 0; a < sharding.placements.size(); ++a)
    if (sharding.placements[a].isShard(dim))
      axes |= uint64_t(1) << a;
  return axes;
}

bool nextCoordinates(const DeviceMesh &mesh, uint64_t axes, Shape &coords) {
  for (size_t a = coords.size(); a-- > 0;) {
    if (!(axes >> a & 1))
      continue;
    if (++coords[a] < mesh.axisSize(a))
      return true;
    coords[a] = 0;
  }
  return false;
}

int64_t overlap(const Interval &a, const Interval &b) {
  return std::max<int64_t>(0, std::min(a.end(), b.end()) -
                                  std::max(a.offset, b.offset));
}

/// Dims that axes link: their intervals depend on the same coordinates. Groups
/// that share no axis are independent, which keeps the count of coordinates
/// small on large meshes.
struct DimGroup {
  uint64_t axes = 0;
  std::vector<int64_t> dims;
};

std::vector<DimGroup> linkedDims(const Sharding &from, const Sharding &to,
                                 size_t rank) {
  std::vector<DimGroup> groups;
  for (size_t d = 0; d < rank; ++d) {
    DimGroup merged{axesOf(from, d) | axesOf(to, d), {(int64_t)d}};
    std::erase_if(groups, [&](DimGroup &group) {
      if (!(group.axes & merged.axes))
        return false;
      merged.axes |= group.axes;
      merged.dims.insert(merged.dims.end(), group.dims.begin(),
                         group.dims.end());
      return true;
    });
    groups.push_back(std::move(merged));
  }
  return groups;
}

std::vector<Held> frontOf(const DimGroup &group, const Sharding &from,
                          const Sharding &to, std::span<const int64_t> shape) {
  std::vector<Held> front;
  Shape coords(from.mesh->ndim(), 0);
  do {
    Held pair{1, 1};
    for (int64_t d : group.dims) {
      Interval target = localInterval(shape[d], d, to, coords);
      pair.target *= target.size;
      pair.held *= overlap(target, localInterval(shape[d], d, from, coords));
    }
    addToFront(front, pair);
  } while (nextCoordinates(*from.mesh, group.axes, coords));
  return front;
}

int64_t largestBox(const Sharding &sharding, std::span<const int64_t> shape) {
  return numElements(maxLocalShape(shape, sharding));
}

int64_t groupSize(const DeviceMesh &mesh, std::span<const int64_t> axes) {
  int64_t k = 1;
  for (int64_t a : axes)
    k *= mesh.axisSize(a);
  return k;
}

/// Reduce-scatter of a flat box in balanced chunks, then all-gather: what group
/// member `r` receives.
int64_t allReduceElements(int64_t box, int64_t k, int64_t r) {
  int64_t chunk = shardOf({0, box}, k, r).size;
  return (k - 1) * chunk + (box - chunk);
}

} // namespace

int64_t plan_steps::missingElements(const Sharding &from, const Sharding &to,
                                    std::span<const int64_t> shape) {
  std::vector<Held> front = {{1, 1}};
  for (const DimGroup &group : linkedDims(from, to, shape.size())) {
    std::vector<Held> combined;
    for (const Held &a : front)
      for (const Held &b : frontOf(group, from, to, shape))
        addToFront(combined, {a.target * b.target, a.held * b.held});
    front = std::move(combined);
  }
  int64_t missing = 0;
  for (const Held &pair : front)
    missing = std::max(missing, pair.target - pair.held);
  return missing;
}

int64_t plan_steps::busiestElements(StepKind kind,
                                    std::span<const int64_t> axes,
                                    const Sharding &from, const Sharding &to,
                                    std::span<const int64_t> shape) {
  int64_t k = groupSize(*from.mesh, axes);
  switch (kind) {
  case StepKind::Slice:
  case StepKind::Mask:
    return 0;
  case StepKind::AllReduce: // the first device is a busiest one
    return allReduceElements(largestBox(from, shape), k, 0);
  case StepKind::ReduceScatter:
    return (k - 1) * largestBox(to, shape);
  case StepKind::AllGather:
  case StepKind::AllToAll:
  case StepKind::Exchange:
    return missingElements(from, to, shape);
  }
  return 0;
}

int64_t dtorch::bytesReceived(const RedistributeStep &step,
                              std::span<const int64_t> shape, int64_t itemSize,
                              int64_t device) {
  const DeviceMesh &mesh = *step.from.mesh;
  Shape coords = mesh.coordinates(device);
  Box from = localBox(shape, step.from, coords);
  Box to = localBox(shape, step.to, coords);
  int64_t k = groupSize(mesh, step.axes);
  switch (step.kind) {
  case StepKind::Slice:
  case StepKind::Mask:
    return 0;
  case StepKind::AllReduce: {
    int64_t rank = 0;
    for (int64_t a : step.axes)
      rank = rank * mesh.axisSize(a) + coords[a];
    return itemSize * allReduceElements(from.numElements(), k, rank);
  }
  case StepKind::ReduceScatter:
    return itemSize * (k - 1) * to.numElements();
  case StepKind::AllGather:
  case StepKind::AllToAll:
  case StepKind::Exchange:
    return itemSize * (to.numElements() - intersect(from, to).numElements());
  }
  return 0;
}
