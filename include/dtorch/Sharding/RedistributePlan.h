//===- RedistributePlan.h - from one sharding to another ------------------===//
//
// The plan of a redistribute on one mesh: the cheapest sequence of steps, each
// a named collective over a set of axes, or an exchange of boxes. Found by
// Dijkstra's algorithm over placements: R, S of every dim (of the dims of the
// two ends where a mesh has many axes), and P where one of the ends has it.
//
// What a step changes, on its axes (k devices in a group over these axes):
//
//   kind            from  to    valid if                         receives
//   slice           R     S(d)  no later axis outside shards d   nothing
//   mask            R     P     always (first device keeps it)   nothing
//   all_gather      S(d)  R     the axes are the innermost of d  rest of box
//   all_reduce      P     R     always                           both below
//   reduce_scatter  P     S(d)  no later axis outside shards d   (k-1) * box
//   all_to_all      S(a)  S(b)  one axis, innermost of a, and    rest of box
//                               no later axis shards b
//   exchange        S, R  S, R  always                           rest of box
//
// "box" is the device's box afterwards. An all_reduce counts as a
// reduce_scatter plus an all_gather of the flat box.
//
// Joint steps change several axes at once (P, P -> R, R is one all_reduce over
// both). Axes in one step need not be adjacent.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Sharding/PlacementRule.h"
#include "dtorch/Sharding/ShardLaw.h"

namespace dtorch {

enum class StepKind : uint8_t {
  Slice,
  Mask,
  AllGather,
  AllReduce,
  ReduceScatter,
  AllToAll,
  Exchange
};
/// "slice", "mask", "all_gather", … : the op and counter names.
std::string_view toString(StepKind kind);
/// Whether the step is local: slice and mask.
bool isLocal(StepKind kind);

/// One step: from -> to, differing on `axes` only (mesh order).
struct RedistributeStep {
  StepKind kind;
  std::vector<int64_t> axes;
  Sharding from, to;
};

struct RedistributePlan {
  std::vector<RedistributeStep> steps;
  int64_t bytes = 0; ///< sum over steps of what the busiest device receives
  int64_t collectives = 0; ///< steps that are not local
};

/// Why a step of this kind may not take `from` to `to`; empty if it may.
/// Verifiers of the collective ops use it too.
std::string stepProblem(const RedistributeStep &step,
                        std::span<const int64_t> shape);

/// Bytes that the device at mesh index `device` receives in the step.
int64_t bytesReceived(const RedistributeStep &step,
                      std::span<const int64_t> shape, int64_t itemSize,
                      int64_t device);

/// The cheapest plan between two shardings (normal form) on one mesh; empty if
/// they are the same layout. Ties prefer fewer collectives, then a named
/// collective, then the smaller group, then the order above. Plans are cached.
/// Throws Error (Placement) for what cannot be done: anything -> P(max/min)
/// that is not so already, and a change of reduction kind.
const RedistributePlan &planRedistribute(const Sharding &from,
                                         const Sharding &to,
                                         std::span<const int64_t> shape,
                                         int64_t itemSize);

} // namespace dtorch
