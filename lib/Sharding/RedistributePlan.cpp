//===- RedistributePlan.cpp - from one sharding to another ----------------===//

#include "dtorch/Sharding/RedistributePlan.h"

#include "PlanSearch.h"
#include "PlanSteps.h"
#include "dtorch/Support/Error.h"

#include <mutex>
#include <unordered_map>

using namespace dtorch;
using namespace dtorch::plan_steps;

std::string_view dtorch::toString(StepKind kind) {
  switch (kind) {
  case StepKind::Slice:
    return "slice";
  case StepKind::Mask:
    return "mask";
  case StepKind::AllGather:
    return "all_gather";
  case StepKind::AllReduce:
    return "all_reduce";
  case StepKind::ReduceScatter:
    return "reduce_scatter";
  case StepKind::AllToAll:
    return "all_to_all";
  case StepKind::Exchange:
    return "exchange";
  }
  return "";
}

bool dtorch::isLocal(StepKind kind) {
  return kind == StepKind::Slice || kind == StepKind::Mask;
}

std::string dtorch::stepProblem(const RedistributeStep &step,
                                std::span<const int64_t> shape) {
  if (!sameMesh(step.from.mesh, step.to.mesh))
    return "a step stays on one mesh";
  Problem problem =
      checkStep(step.kind, step.axes, normalised(step.from, shape),
                normalised(step.to, shape), shape);
  if (!problem)
    return "";
  return std::string(problem) + ", got " + step.from.placementsStr() + " -> " +
         step.to.placementsStr();
}

namespace {

struct Key {
  Sharding from, to;
  Shape shape;
  int64_t itemSize;
  bool operator==(const Key &) const = default;
};

void mix(size_t &hash, int64_t value) {
  hash = (hash ^ static_cast<size_t>(value)) * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 29;
}

/// The mesh enters by its sizes only, so that equal meshes hash alike.
struct KeyHash {
  size_t operator()(const Key &key) const {
    size_t hash = key.itemSize;
    for (int64_t n : key.shape)
      mix(hash, n);
    for (int64_t n : key.from.mesh->shape())
      mix(hash, n);
    for (const Sharding *s : {&key.from, &key.to})
      for (const Placement &p : s->placements)
        mix(hash, ((int64_t)p.kind << 8 | (int64_t)p.reduce) ^
                      ((int64_t)p.dim << 16) ^ (p.unit << 24));
    return hash;
  }
};

} // namespace

static RedistributePlan makePlan(const Key &key) {
  if (!sameMesh(key.from.mesh, key.to.mesh))
    throw Error("redistribute: a plan stays on one mesh, got " +
                    key.from.mesh->str() + " and " + key.to.mesh->str(),
                ErrorKind::Placement);
  Sharding from = normalised(key.from, key.shape);
  Sharding to = normalised(key.to, key.shape);
  if (Problem problem = checkChange(from, to))
    throw Error("redistribute: " + std::string(problem) + ", got " +
                    from.placementsStr() + " -> " + to.placementsStr(),
                ErrorKind::Placement);
  RedistributePlan plan = searchPlan(from, to, key.shape);
  plan.bytes *= key.itemSize;
  return plan;
}

const RedistributePlan &dtorch::planRedistribute(const Sharding &from,
                                                 const Sharding &to,
                                                 std::span<const int64_t> shape,
                                                 int64_t itemSize) {
  // Entries never leave, so references into the map stay good.
  static std::mutex mutex;
  static std::unordered_map<Key, RedistributePlan, KeyHash> cache;
  Key key{from, to, Shape(shape.begin(), shape.end()), itemSize};
  {
    std::lock_guard lock(mutex);
    if (auto it = cache.find(key); it != cache.end())
      return it->second;
  }
  RedistributePlan plan = makePlan(key); // outside the lock: it may throw
  std::lock_guard lock(mutex);
  return cache.try_emplace(std::move(key), std::move(plan)).first->second;
}
