//===- PlanSteps.cpp - which steps are valid ------------------------------===//

#include "PlanSteps.h"

#include <algorithm>

using namespace dtorch;
using namespace dtorch::plan_steps;

namespace {

/// How one tensor dim is cut: the axes in mesh order, and the unit.
struct Cut {
  std::vector<int64_t> axes;
  int64_t unit = 1;
};

Cut cutOf(const Sharding &sharding, int64_t dim) {
  Cut cut;
  for (size_t a = 0; a < sharding.placements.size(); ++a)
    if (sharding.placements[a].isShard(dim)) {
      cut.axes.push_back(a);
      cut.unit = sharding.placements[a].unit;
    }
  return cut;
}

bool in(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Whether the first `count` axes of two cuts of a dim of n elements give every
/// device the same interval (see fineUnit in RuleRows.h).
bool samePrefix(const DeviceMesh &mesh, int64_t n, const Cut &a, const Cut &b,
                size_t count) {
  if (a.axes.size() < count || b.axes.size() < count ||
      !std::equal(a.axes.begin(), a.axes.begin() + count, b.axes.begin()))
    return false;
  int64_t parts = 1;
  for (size_t i = 0; i < count; ++i)
    parts *= mesh.axisSize(a.axes[i]);
  auto effective = [&](int64_t unit) {
    return n / unit % parts == 0 ? 0 : unit;
  };
  return effective(a.unit) == effective(b.unit);
}

bool sameCut(const DeviceMesh &mesh, int64_t n, const Cut &a, const Cut &b) {
  return a.axes.size() == b.axes.size() &&
         samePrefix(mesh, n, a, b, a.axes.size());
}

/// Whether `fine` is `coarse` with exactly the axes `extra` added innermost.
bool refines(const DeviceMesh &mesh, int64_t n, const Cut &fine,
             const Cut &coarse, std::span<const int64_t> extra) {
  return fine.axes.size() == coarse.axes.size() + extra.size() &&
         samePrefix(mesh, n, fine, coarse, coarse.axes.size()) &&
         std::equal(extra.begin(), extra.end(),
                    fine.axes.begin() + coarse.axes.size());
}

/// What a step does on its axes: the placements that all of them have before
/// and after. Absent for an exchange, whose axes may differ.
struct Change {
  Placement from, to;
};

bool likeOnAll(const Sharding &s, std::span<const int64_t> axes) {
  for (int64_t a : axes)
    if (s.placements[a] != s.placements[axes[0]])
      return false;
  return true;
}

Problem checkKinds(StepKind kind, const Change &c, size_t numAxes) {
  switch (kind) {
  case StepKind::Slice:
    if (!c.from.isReplicate() || !c.to.isShard())
      return "slice turns R into S";
    break;
  case StepKind::Mask:
    if (!c.from.isReplicate() || !c.to.isPartial() ||
        c.to.reduce != ReduceKind::Sum)
      return "mask turns R into P";
    break;
  case StepKind::AllGather:
    if (!c.from.isShard() || !c.to.isReplicate())
      return "all_gather turns S into R";
    break;
  case StepKind::AllReduce:
    if (!c.from.isPartial() || !c.to.isReplicate())
      return "all_reduce turns P into R";
    break;
  case StepKind::ReduceScatter:
    if (!c.from.isPartial() || !c.to.isShard())
      return "reduce_scatter turns P into S";
    break;
  case StepKind::AllToAll:
    if (!c.from.isShard() || !c.to.isShard() || c.from.dim == c.to.dim)
      return "all_to_all turns S of one dim into S of another";
    if (numAxes != 1)
      return "all_to_all is over one axis";
    break;
  case StepKind::Exchange:
    break;
  }
  return nullptr;
}

/// Outside the axes of a step nothing changes, but for units that mean nothing.
Problem checkOthers(std::span<const int64_t> axes, const Sharding &from,
                    const Sharding &to) {
  for (size_t a = 0; a < from.placements.size(); ++a) {
    if (in(axes, a))
      continue;
    const Placement &p = from.placements[a], &q = to.placements[a];
    if (p.kind != q.kind || p.dim != q.dim || p.reduce != q.reduce)
      return "placements differ on an axis outside the step";
  }
  return nullptr;
}

Problem checkExchange(std::span<const int64_t> axes, const Sharding &from,
                      const Sharding &to, std::span<const int64_t> shape) {
  for (int64_t a : axes)
    if (from.placements[a].isPartial() || to.placements[a].isPartial())
      return "exchange turns S and R into S and R";
  for (int64_t a : exchangeAxes(from, to, shape))
    if (!in(axes, a))
      return "boxes must move over an axis outside the step";
  return nullptr;
}

Problem checkDim(StepKind kind, std::span<const int64_t> axes,
                 const Change &change, const Sharding &from, const Sharding &to,
                 int64_t d, int64_t n) {
  const DeviceMesh &mesh = *from.mesh;
  Cut before = cutOf(from, d), after = cutOf(to, d);
  if (change.from.isShard(d) && kind != StepKind::Slice)
    return refines(mesh, n, before, after, axes)
               ? nullptr
               : "the axes are not the innermost that shard the dim";
  if (change.to.isShard(d))
    return refines(mesh, n, after, before, axes)
               ? nullptr
               : "a later axis shards the dim";
  return sameCut(mesh, n, before, after) ? nullptr
                                         : "the unit of another dim changes";
}

} // namespace

std::vector<int64_t> plan_steps::exchangeAxes(const Sharding &from,
                                              const Sharding &to,
                                              std::span<const int64_t> shape) {
  std::vector<int64_t> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    Cut a = cutOf(from, d), b = cutOf(to, d);
    if (sameCut(*from.mesh, shape[d], a, b))
      continue;
    size_t common = std::min(a.axes.size(), b.axes.size());
    while (!samePrefix(*from.mesh, shape[d], a, b, common))
      --common; // an empty prefix is always the same
    axes.insert(axes.end(), a.axes.begin() + common, a.axes.end());
    axes.insert(axes.end(), b.axes.begin() + common, b.axes.end());
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

Problem plan_steps::checkStep(StepKind kind, std::span<const int64_t> axes,
                              const Sharding &from, const Sharding &to,
                              std::span<const int64_t> shape) {
  if (axes.empty())
    return "a step needs at least one axis";
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= from.mesh->ndim() ||
        (i && axes[i] <= axes[i - 1]))
      return "axes must be axes of the mesh, in mesh order";
  if (Problem problem = checkOthers(axes, from, to))
    return problem;
  if (kind == StepKind::Exchange)
    return checkExchange(axes, from, to, shape);
  if (!likeOnAll(from, axes) || !likeOnAll(to, axes))
    return "placements on the axes of the step must be alike";
  Change change{from.placements[axes[0]], to.placements[axes[0]]};
  if (Problem problem = checkKinds(kind, change, axes.size()))
    return problem;
  for (size_t d = 0; d < shape.size(); ++d)
    if (Problem problem = checkDim(kind, axes, change, from, to, d, shape[d]))
      return problem;
  return nullptr;
}

Problem plan_steps::checkChange(const Sharding &from, const Sharding &to) {
  for (size_t a = 0; a < to.placements.size(); ++a) {
    const Placement &p = from.placements[a], &q = to.placements[a];
    if (!q.isPartial() || (p.isPartial() && p.reduce == q.reduce))
      continue;
    if (p.isPartial())
      return "one reduction does not become another";
    if (q.reduce != ReduceKind::Sum)
      return "only pending sums can be made";
  }
  return nullptr;
}
