//===- PlanSearch.cpp - the cheapest sequence of steps --------------------===//
//
// Dijkstra's algorithm over shardings in normal form, made as they are reached,
// with the elements that devices still lack as lower bound of the rest (A*).
//
// Idle axes and dims that neither end uses take part: [P, R] -> [R, R] may be
// cheapest as a slice, an all_reduce of the slices and an all_gather. Two
// restrictions keep the search small and lose nothing:
//
//   mask      only on the axes where the target is P, all of them at once
//   exchange  once nothing but wanted P is left, only straight to the target:
//             it costs exactly what is missing, and no other way costs less
//
//===----------------------------------------------------------------------===//

#include "PlanSearch.h"

#include "PlanSteps.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

using namespace dtorch;
using namespace dtorch::plan_steps;

namespace {

using Placements = std::vector<Placement>;

/// In the order of the tie rules: bytes, collectives, a named collective, the
/// smaller group; then fewer steps and the order of the kinds.
struct PathCost {
  int64_t elements = 0, collectives = 0, exchanges = 0, group = 0, steps = 0,
          order = 0;
  auto operator<=>(const PathCost &) const = default;
  PathCost operator+(const PathCost &o) const {
    return {elements + o.elements,   collectives + o.collectives,
            exchanges + o.exchanges, group + o.group,
            steps + o.steps,         order + o.order};
  }
};

struct Edge {
  StepKind kind = StepKind::Slice;
  std::vector<int64_t> axes;
};

struct Node {
  Placements placements;
  int64_t missing = 0;
  bool reached = false, done = false;
  PathCost cost;
  int64_t parent = -1;
  Edge edge; ///< from the parent
};

/// Above so many shardings the search keeps to the dims of both ends.
constexpr int64_t maxStates = 1500;

class PlanSearch {
public:
  PlanSearch(const Sharding &from, const Sharding &to,
             std::span<const int64_t> shape)
      : mesh(*from.mesh), meshRef(from.mesh), from(from), to(to),
        shape(shape.begin(), shape.end()) {
    chooseDims();
  }

  RedistributePlan run() {
    int64_t start = nodeOf(from.placements);
    goal = nodeOf(to.placements);
    nodes[start].reached = true;
    push(start);
    while (!nodes[goal].done) {
      Entry entry = queue.top();
      queue.pop();
      if (nodes[entry.node].done)
        continue;
      nodes[entry.node].done = true;
      if (entry.node != goal)
        expand(entry.node);
    }
    return makePlan();
  }

private:
  struct Entry {
    PathCost bound;
    int64_t sequence, node;
    bool operator<(const Entry &o) const { // smallest on top
      return std::tie(o.bound, o.sequence) < std::tie(bound, sequence);
    }
  };

  Sharding sharding(const Placements &placements) const {
    return {meshRef, placements};
  }

  void addUnit(size_t d, int64_t unit) {
    if (std::find(units[d].begin(), units[d].end(), unit) == units[d].end())
      units[d].push_back(unit);
  }

  /// Dims that shards may use on the way, each with the units of both ends and
  /// none (which balances best).
  void chooseDims() {
    units.resize(shape.size());
    for (const Sharding *end : {&from, &to})
      for (const Placement &p : end->placements)
        if (p.isShard()) {
          addUnit(p.dim, p.unit);
          addUnit(p.dim, 1);
        }
    int64_t options = 2, states = 1;
    for (size_t d = 0; d < shape.size(); ++d)
      options += std::max<int64_t>(1, units[d].size());
    for (int64_t a = 0; a < mesh.ndim() && states <= maxStates; ++a)
      states *= mesh.axisSize(a) == 1 ? 1 : options;
    if (states <= maxStates)
      for (size_t d = 0; d < shape.size(); ++d)
        if (shape[d] > 0)
          addUnit(d, 1);
  }

  int64_t nodeOf(const Placements &placements) {
    auto [it, made] = index.try_emplace(placements, nodes.size());
    if (made) {
      Node &node = nodes.emplace_back();
      node.placements = placements;
      node.missing = missingElements(sharding(placements), to, shape);
    }
    return it->second;
  }

  void push(int64_t node) {
    PathCost bound = nodes[node].cost;
    bound.elements += nodes[node].missing;
    queue.push({bound, sequence++, node});
  }

  /// Offers the step to `target` (brought to normal form), if it is valid.
  void offer(int64_t source, StepKind kind, std::vector<int64_t> axes,
             const Placements &target) {
    Sharding before = sharding(nodes[source].placements);
    Sharding after = normalised(sharding(target), shape);
    if (after.placements == before.placements)
      return;
    int64_t node = nodeOf(after.placements);
    PathCost cost = nodes[source].cost + leastCost(kind, axes);
    if (!mayImprove(node, cost) || checkStep(kind, axes, before, after, shape))
      return;
    cost.elements += busiestElements(kind, axes, before, after, shape);
    if (!mayImprove(node, cost))
      return;
    nodes[node].reached = true;
    nodes[node].cost = cost;
    nodes[node].parent = source;
    nodes[node].edge = {kind, std::move(axes)};
    push(node);
  }

  /// The cost of a step but for what it moves.
  PathCost leastCost(StepKind kind, const std::vector<int64_t> &axes) const {
    PathCost step;
    step.steps = 1;
    step.order = static_cast<int64_t>(kind);
    if (isLocal(kind))
      return step;
    step.collectives = 1;
    step.exchanges = kind == StepKind::Exchange;
    step.group = 1;
    for (int64_t a : axes)
      step.group *= mesh.axisSize(a);
    return step;
  }

  /// Whether a way to the node at this cost can be part of the best plan.
  bool mayImprove(int64_t node, const PathCost &cost) const {
    const Node &n = nodes[node], &end = nodes[goal];
    if (n.done || (n.reached && n.cost <= cost))
      return false;
    return !end.reached || cost.elements + n.missing <= end.cost.elements;
  }

  //===--------------------------------------------------------------------===//
  // Successors
  //===--------------------------------------------------------------------===//

  void expand(int64_t source) {
    const Placements state = nodes[source].placements;
    std::vector<int64_t> replicated, pending, sharded;
    for (int64_t a = 0; a < mesh.ndim(); ++a) {
      if (mesh.axisSize(a) == 1)
        continue;
      (state[a].isReplicate() ? replicated
       : state[a].isPartial() ? pending
                              : sharded)
          .push_back(a);
    }
    forSubsets(replicated, [&](const std::vector<int64_t> &axes) {
      toShards(source, StepKind::Slice, axes, state);
    });
    forSubsets(pending, [&](const std::vector<int64_t> &axes) {
      offer(source, StepKind::AllReduce, axes, with(state, axes, {}));
      toShards(source, StepKind::ReduceScatter, axes, state);
    });
    offerMask(source, state, replicated);
    for (size_t d = 0; d < shape.size(); ++d)
      offerGathers(source, state, d);
    for (int64_t a : sharded)
      toShards(source, StepKind::AllToAll, {a}, state);
    offerExchanges(source, state);
  }

  template <typename F>
  static void forSubsets(const std::vector<int64_t> &axes, F f) {
    for (uint64_t mask = 1; mask < (uint64_t(1) << axes.size()); ++mask) {
      std::vector<int64_t> subset;
      for (size_t i = 0; i < axes.size(); ++i)
        if (mask >> i & 1)
          subset.push_back(axes[i]);
      f(subset);
    }
  }

  static Placements with(Placements state, const std::vector<int64_t> &axes,
                         Placement p) {
    for (int64_t a : axes)
      state[a] = p;
    return state;
  }

  void toShards(int64_t source, StepKind kind, const std::vector<int64_t> &axes,
                const Placements &state) {
    for (size_t d = 0; d < shape.size(); ++d)
      for (int64_t unit : units[d]) {
        Placements target = with(state, axes, Placement::shard(d, unit));
        for (Placement &p : target) // one unit a dim
          if (p.isShard(d))
            p.unit = unit;
        offer(source, kind, axes, target);
      }
  }

  void offerMask(int64_t source, const Placements &state,
                 const std::vector<int64_t> &replicated) {
    std::vector<int64_t> axes;
    for (int64_t a : replicated)
      if (to.placements[a].isPartial())
        axes.push_back(a);
    offer(source, StepKind::Mask, axes,
          with(state, axes, Placement::partial()));
  }

  void offerGathers(int64_t source, const Placements &state, int64_t d) {
    std::vector<int64_t> axes;
    for (int64_t a = mesh.ndim(); a-- > 0;) {
      if (!state[a].isShard(d))
        continue;
      axes.insert(axes.begin(), a); // innermost first: every suffix
      offer(source, StepKind::AllGather, axes, with(state, axes, {}));
    }
  }

  void offerExchanges(int64_t source, const Placements &state) {
    bool unwanted = false;
    Placements target = nodes[goal].placements;
    for (size_t a = 0; a < state.size(); ++a) {
      unwanted |= state[a].isPartial() && !to.placements[a].isPartial();
      if (to.placements[a].isPartial())
        target[a] = state[a].isPartial() ? state[a] : Placement{};
    }
    if (!unwanted)
      return offerExchange(source, target);
    Placements other = state;
    offerEveryExchange(source, other, 0);
  }

  void offerExchange(int64_t source, const Placements &target) {
    Sharding before = sharding(nodes[source].placements);
    Sharding after = normalised(sharding(target), shape);
    offer(source, StepKind::Exchange, exchangeAxes(before, after, shape),
          target);
  }

  /// Exchanges to every choice of S and R on the axes that are not pending.
  void offerEveryExchange(int64_t source, Placements &target, size_t axis) {
    if (axis == target.size())
      return offerExchange(source, target);
    if (target[axis].isPartial() || mesh.axisSize(axis) == 1)
      return offerEveryExchange(source, target, axis + 1);
    Placement kept = target[axis];
    target[axis] = {};
    offerEveryExchange(source, target, axis + 1);
    for (size_t d = 0; d < shape.size(); ++d)
      for (int64_t unit : units[d]) {
        bool agrees = true; // one unit a dim
        for (size_t a = 0; a < axis; ++a)
          agrees &= !target[a].isShard(d) || target[a].unit == unit;
        if (!agrees)
          continue;
        target[axis] = Placement::shard(d, unit);
        offerEveryExchange(source, target, axis + 1);
      }
    target[axis] = kept;
  }

  RedistributePlan makePlan() const {
    RedistributePlan plan;
    plan.bytes = nodes[goal].cost.elements;
    plan.collectives = nodes[goal].cost.collectives;
    for (int64_t node = goal; nodes[node].parent >= 0;
         node = nodes[node].parent) {
      const Node &n = nodes[node];
      plan.steps.push_back({n.edge.kind, n.edge.axes,
                            sharding(nodes[n.parent].placements),
                            sharding(n.placements)});
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

  const DeviceMesh &mesh;
  MeshRef meshRef;
  Sharding from, to;
  Shape shape;
  std::vector<std::vector<int64_t>> units; ///< per dim
  std::vector<Node> nodes;
  std::map<Placements, int64_t> index;
  std::priority_queue<Entry> queue;
  int64_t sequence = 0, goal = -1;
};

} // namespace

RedistributePlan plan_steps::searchPlan(const Sharding &from,
                                        const Sharding &to,
                                        std::span<const int64_t> shape) {
  return PlanSearch(from, to, shape).run();
}
