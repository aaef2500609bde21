//===- CommunicationPlan.cpp - who sends which elements to whom -----------===//
#include "dtorch/Runtime/Comm/CommunicationPlan.h"

#include "dtorch/Support/Error.h"

#include <algorithm>

namespace dtorch {

using Plan = CommunicationPlan;

namespace {

/// Below this a reduction is done by every sharer on its own: copying the
/// others' slices costs a synchronisation more.
constexpr int64_t shareBytes = 16 * 1024;

Box wholeBox(const Shape &shape) { return {Shape(shape.size(), 0), shape}; }

bool contains(const std::vector<int64_t> &list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Whether a device off the first one of a pending axis holds zeros, among the
/// axes that `from` (if given) did not hold pending already.
bool isZero(const Sharding &to, const Sharding *from,
            const Shape &coordinates) {
  for (size_t a = 0; a < to.placements.size(); ++a)
    if (to.placements[a].isPartial() && coordinates[a] != 0 &&
        !(from && from->placements[a].isPartial()))
      return true;
  return false;
}

/// Axes along which elements move: those given, and for every dim that they
/// shard, all others that shard it, too (an outer axis moves the inner parts).
std::vector<int64_t> movingAxes(const CommunicationSpec &spec) {
  const auto &from = spec.from.sharding.placements,
             &to = spec.to.sharding.placements;
  std::vector<int64_t> axes = spec.axes;
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t a = 0; a < from.size(); ++a)
      for (const Placement &p : {from[axes[i]], to[axes[i]]})
        if (p.isShard() && !contains(axes, a) &&
            (from[a].isShard(p.dim) || to[a].isShard(p.dim)))
          axes.push_back(a);
  std::sort(axes.begin(), axes.end());
  return axes;
}

/// Assembles the device's target box from the boxes of those members that have
/// its own coordinates on every axis where the input is replicated; they hold
/// each element once.
void planPieces(const CommunicationSpec &spec, int64_t index, Plan &plan) {
  const DeviceMesh &mesh = *spec.from.sharding.mesh;
  Shape own = mesh.coordinates(index);
  Box target = spec.to.boxOf(index);
  int64_t item = itemSize(plan.dtype), found = 0;
  for (size_t peer = 0; peer < plan.members.size(); ++peer) {
    Shape coordinates = mesh.coordinates(plan.members[peer]);
    bool takesPart = true;
    for (size_t a = 0; a < coordinates.size(); ++a)
      takesPart &= spec.from.sharding.placements[a].isShard() ||
                   coordinates[a] == own[a];
    if (!takesPart)
      continue;
    Box source = spec.from.boxOf(plan.members[peer]);
    Box part = intersect(source, target);
    if (part.empty())
      continue;
    plan.pieces.push_back({static_cast<int64_t>(peer),
                           StridedCopy::ofBox(part, source, target, item)});
    found += plan.pieces.back().copy.bytes();
    if (static_cast<int64_t>(peer) != plan.self)
      plan.bytesReceived += plan.pieces.back().copy.bytes();
  }
  if (found != static_cast<int64_t>(plan.targetBytes))
    throw Error(spec.kind +
                    ": the group over its axes does not hold all of the "
                    "target, " +
                    spec.from.str() + " -> " + spec.to.str(),
                ErrorKind::Placement);
}

/// Runs of the target elements [begin, end) in the input, of which the target
/// is a box.
std::vector<Plan::Run> runsOf(const Box &target, const Box &input, int64_t item,
                              int64_t begin, int64_t end) {
  size_t outer = target.size.size();
  int64_t length = 1;
  while (outer > 0) {
    --outer;
    length *= target.size[outer];
    if (target.size[outer] != input.size[outer])
      break;
  }
  Shape strides = rowMajorStrides(input.size);
  int64_t start = 0;
  for (size_t d = 0; d < strides.size(); ++d)
    start += (target.offset[d] - input.offset[d]) * strides[d];
  std::vector<Plan::Run> runs;
  int64_t count = length ? target.numElements() / length : 0;
  for (int64_t r = 0; r < count; ++r) {
    int64_t offset = start, rest = r;
    for (size_t d = outer; d-- > 0; rest /= target.size[d])
      offset += rest % target.size[d] * strides[d];
    int64_t first = std::max(begin, r * length),
            last = std::min(end, (r + 1) * length);
    if (first < last)
      runs.push_back(
          {(offset + first - r * length) * item, first * item, last - first});
  }
  return runs;
}

void planReduce(const CommunicationSpec &spec, int64_t index, Plan &plan) {
  Box input = spec.from.boxOf(index), target = spec.to.boxOf(index);
  int64_t item = itemSize(plan.dtype), count = target.numElements();
  int64_t groupSize = plan.members.size();
  plan.reduce = spec.from.sharding.placements[spec.axes[0]].reduce;
  // Members with the same target box share the work.
  std::vector<int64_t> sharers;
  int64_t position = 0;
  for (int64_t peer = 0; peer < groupSize; ++peer)
    if (spec.to.boxOf(plan.members[peer]) == target) {
      if (peer == plan.self)
        position = sharers.size();
      sharers.push_back(peer);
    }
  int64_t parts = sharers.size();
  Interval slice = shardOf({0, count}, parts, position);
  plan.bytesReceived =
      ((groupSize - 1) * slice.size + count - slice.size) * item;
  if (parts == 1 || count * item <= shareBytes) {
    plan.runs = runsOf(target, input, item, 0, count);
    return;
  }
  plan.runs = runsOf(target, input, item, slice.offset, slice.end());
  for (int64_t p = 0; p < parts; ++p) {
    Interval other = shardOf({0, count}, parts, p);
    if (p != position)
      plan.slices.push_back(
          {sharers[p], other.offset * item, other.size * item});
  }
}

Plan::Sort sortOf(const CommunicationSpec &spec) {
  const std::string &kind = spec.kind;
  if (kind == "slice" || kind == "mask")
    return Plan::Sort::Local;
  if (kind == "all_reduce" || kind == "reduce_scatter")
    return Plan::Sort::Reduce;
  if (kind == "from_host")
    return Plan::Sort::FromHost;
  if (kind == "to_host")
    return Plan::Sort::ToHost;
  return Plan::Sort::Copy;
}

void planHost(const CommunicationSpec &spec, int64_t index, Plan &plan) {
  bool fromHost = plan.sort == Plan::Sort::FromHost;
  const BufferType &type = fromHost ? spec.to : spec.from;
  int64_t item = itemSize(plan.dtype);
  Box box = type.boxOf(index), whole = wholeBox(type.shape);
  Shape coordinates = type.sharding.mesh->coordinates(index);
  if (fromHost) {
    plan.zero = isZero(spec.to.sharding, nullptr, coordinates);
    if (!plan.zero)
      plan.pieces.push_back({0, StridedCopy::ofBox(box, whole, box, item)});
    return;
  }
  // The first holder of each box delivers it.
  bool first = true;
  for (size_t a = 0; a < coordinates.size(); ++a)
    first &= type.sharding.placements[a].isShard() || coordinates[a] == 0;
  if (first && !box.empty())
    plan.pieces.push_back({0, StridedCopy::ofBox(box, box, whole, item)});
}

} // namespace

bool isCollective(std::string_view kind) {
  return kind != "slice" && kind != "mask" && kind != "from_host";
}

int64_t Plan::hostAlias() const {
  if (sort != Sort::FromHost || zero || !pieces[0].copy.isOneBlock())
    return -1;
  return pieces[0].copy.bytes() ? pieces[0].copy.sourceByte() : 0;
}

int64_t Plan::hostPlace() const {
  if (sort != Sort::ToHost || pieces.empty() || !pieces[0].copy.isOneBlock())
    return -1;
  return pieces[0].copy.targetByte();
}

CommunicationPlan planCommunication(const CommunicationSpec &spec,
                                    int64_t index) {
  Plan plan;
  plan.sort = sortOf(spec);
  plan.dtype = spec.from.dtype;
  if (plan.sort == Plan::Sort::FromHost || plan.sort == Plan::Sort::ToHost) {
    if (plan.sort == Plan::Sort::FromHost)
      plan.targetBytes =
          spec.to.boxOf(index).numElements() * itemSize(plan.dtype);
    planHost(spec, index, plan);
    return plan;
  }
  const DeviceMesh &mesh = *spec.from.sharding.mesh;
  plan.targetBytes = spec.to.boxOf(index).numElements() * itemSize(plan.dtype);
  if (plan.sort == Plan::Sort::Local)
    plan.members = {index};
  else
    plan.members = mesh.group(
        index, plan.sort == Plan::Sort::Copy ? movingAxes(spec) : spec.axes);
  plan.self = std::find(plan.members.begin(), plan.members.end(), index) -
              plan.members.begin();
  if (plan.sort == Plan::Sort::Reduce)
    planReduce(spec, index, plan);
  else if (isZero(spec.to.sharding, &spec.from.sharding,
                  mesh.coordinates(index)))
    plan.zero = true;
  else
    planPieces(spec, index, plan);
  return plan;
}

} // namespace dtorch
