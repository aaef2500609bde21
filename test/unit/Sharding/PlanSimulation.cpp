//===- PlanSimulation.cpp - runs a plan on index sets ---------------------===//

#include "PlanSimulation.h"

using namespace dtorch;

/// Number of a device among those that share its other coordinates.
static int64_t rankIn(const DeviceMesh &mesh, int64_t device,
                      std::span<const int64_t> axes) {
  Shape coords = mesh.coordinates(device);
  int64_t rank = 0;
  for (int64_t a : axes)
    rank = rank * mesh.axisSize(a) + coords[a];
  return rank;
}

static std::vector<int64_t> pendingAxes(const Sharding &s) {
  std::vector<int64_t> axes;
  for (size_t a = 0; a < s.placements.size(); ++a)
    if (s.placements[a].isPartial())
      axes.push_back(a);
  return axes;
}

PlanSimulation::PlanSimulation(const Sharding &from,
                               std::span<const int64_t> shape)
    : mesh(*from.mesh), shape(shape.begin(), shape.end()) {
  std::vector<int64_t> pending = pendingAxes(from);
  for (int64_t i = 0; i < mesh.numDevices(); ++i) {
    uint64_t mine = uint64_t(1) << 8 * rankIn(mesh, i, pending);
    full |= mine;
    Box box = localBox(shape, from, mesh.coordinates(i));
    devices.push_back({box, std::vector<uint64_t>(box.numElements(), mine)});
  }
}

std::optional<size_t> PlanSimulation::indexIn(const Box &box,
                                              const Shape &element) {
  size_t index = 0;
  for (size_t d = 0; d < element.size(); ++d) {
    int64_t i = element[d] - box.offset[d];
    if (i < 0 || i >= box.size[d])
      return std::nullopt;
    index = index * box.size[d] + i;
  }
  return index;
}

/// Gathers, exchanges and slices: an element the device has itself is kept, any
/// other comes from a group member.
std::string PlanSimulation::receive(const RedistributeStep &step,
                                    int64_t device, Device &out) const {
  std::string problem;
  int64_t received = 0;
  std::vector<int64_t> group = mesh.group(device, step.axes);
  forElements(out.box, [&](const Shape &element) {
    if (auto own = indexIn(devices[device].box, element)) {
      out.values.push_back(devices[device].values[*own]);
      return;
    }
    ++received;
    int holders = 0;
    uint64_t value = 0;
    for (int64_t member : group)
      if (auto i = indexIn(devices[member].box, element))
        if (++holders == 1)
          value = devices[member].values[*i];
    if (holders == 0)
      problem = "no group member has an element that is needed";
    if (holders > 1 && step.kind != StepKind::Exchange)
      problem = "two group members hold an element";
    out.values.push_back(value);
  });
  if (received && isLocal(step.kind))
    problem = "a local step needs elements of others";
  if (received != bytesReceived(step, shape, 1, device))
    problem = "receives " + std::to_string(received) + " elements, not " +
              std::to_string(bytesReceived(step, shape, 1, device));
  return problem;
}

std::string PlanSimulation::reduce(const RedistributeStep &step, int64_t device,
                                   Device &out) const {
  std::vector<int64_t> group = mesh.group(device, step.axes);
  for (int64_t member : group)
    if (devices[member].box != devices[device].box)
      return "group members hold different boxes";
  forElements(out.box, [&](const Shape &element) {
    uint64_t sum = 0;
    for (int64_t member : group)
      if (auto i = indexIn(devices[member].box, element))
        sum += devices[member].values[*i];
    out.values.push_back(sum);
  });
  return out.values.size() == size_t(out.box.numElements())
             ? ""
             : "elements are missing";
}

std::string PlanSimulation::run(const RedistributeStep &step) {
  if (std::string problem = stepProblem(step, shape); !problem.empty())
    return problem;
  std::vector<Device> after;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].box != localBox(shape, step.from, mesh.coordinates(i)))
      return "the step starts from another layout";
    Device out{localBox(shape, step.to, mesh.coordinates(i)), {}};
    out.values.reserve(out.box.numElements());
    std::string problem;
    switch (step.kind) {
    case StepKind::Mask:
      out = devices[i];
      if (rankIn(mesh, i, step.axes))
        std::fill(out.values.begin(), out.values.end(), 0);
      break;
    case StepKind::AllReduce:
    case StepKind::ReduceScatter:
      problem = reduce(step, i, out);
      break;
    default:
      problem = receive(step, i, out);
    }
    if (!problem.empty())
      return problem;
    after.push_back(std::move(out));
  }
  devices = std::move(after);
  return "";
}

std::string PlanSimulation::finish(const Sharding &to) const {
  std::vector<int64_t> pending = pendingAxes(to);
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].box != localBox(shape, to, mesh.coordinates(i)))
      return "a device ends with another box";
    if (rankIn(mesh, i, pending))
      continue;
    std::vector<int64_t> group = mesh.group(i, pending);
    for (size_t e = 0; e < devices[i].values.size(); ++e) {
      uint64_t sum = 0;
      for (int64_t member : group)
        sum += devices[member].values[e];
      if (sum != full)
        return "contributions are lost or counted twice";
    }
  }
  return "";
}
