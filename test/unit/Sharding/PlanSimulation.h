//===- PlanSimulation.h - runs a plan on index sets -------------*- C++ -*-===//
//
// Every element carries, packed in bytes, how often each pending contribution
// is in it. Adding values adds counts, so a contribution that is lost or summed
// twice shows. Steps run on boxes as the runtime does; nothing here knows how
// plans are found.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Sharding/RedistributePlan.h"

#include <optional>

namespace dtorch {

class PlanSimulation {
public:
  PlanSimulation(const Sharding &from, std::span<const int64_t> shape);

  /// Runs a step; returns what is wrong with it, if anything.
  std::string run(const RedistributeStep &step);

  /// Whether the devices hold the whole value under `to`: right boxes, each
  /// contribution exactly once over the group of pending axes.
  std::string finish(const Sharding &to) const;

private:
  struct Device {
    Box box;
    std::vector<uint64_t> values; ///< dense in the box
  };

  static std::optional<size_t> indexIn(const Box &box, const Shape &element);
  std::string receive(const RedistributeStep &step, int64_t device,
                      Device &out) const;
  std::string reduce(const RedistributeStep &step, int64_t device,
                     Device &out) const;

  const DeviceMesh &mesh;
  Shape shape;
  std::vector<Device> devices;
  uint64_t full = 0; ///< every contribution once
};

/// Calls f(element) for each element of a box, row-major.
template <typename F> void forElements(const Box &box, F f) {
  if (box.empty())
    return;
  Shape element = box.offset;
  for (;;) {
    f(element);
    size_t d = element.size();
    while (d-- > 0) {
      if (++element[d] < box.offset[d] + box.size[d])
        break;
      element[d] = box.offset[d];
    }
    if (d == size_t(-1))
      return;
  }
}

} // namespace dtorch
