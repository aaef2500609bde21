//===- LowerRedistributes.cpp - turn redistributes into collectives -------===//

#include "dtorch/Dialect/IR/CollectiveOps.h"
#include "dtorch/Dialect/Transforms/Passes.h"

#include "PassSupport.h"

namespace dtorch {
#define GEN_PASS_DEF_LOWERREDISTRIBUTES
#include "dtorch/Dialect/Transforms/Passes.h.inc"
} // namespace dtorch

using namespace mlir;
using namespace dtorch;

namespace {
class LowerRedistributes
    : public dtorch::impl::LowerRedistributesBase<LowerRedistributes> {
  void runOnOperation() override;
};
} // namespace

/// The op of a step on `value`.
static Value buildStep(OpBuilder &builder, Location loc,
                       const RedistributeStep &step, Value value) {
  Type type =
      placedType(builder.getContext(), globalType(value.getType()), step.to);
  auto axes = builder.getDenseI64ArrayAttr(step.axes);
  switch (step.kind) {
  case StepKind::Slice:
    return LocalSliceOp::create(builder, loc, type, value, axes);
  case StepKind::Mask:
    return LocalMaskOp::create(builder, loc, type, value, axes);
  case StepKind::AllGather:
    return AllGatherOp::create(builder, loc, type, value, axes);
  case StepKind::AllReduce:
    return AllReduceOp::create(builder, loc, type, value, axes);
  case StepKind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, value, axes);
  case StepKind::AllToAll:
    return AllToAllOp::create(builder, loc, type, value, axes);
  case StepKind::Exchange:
    return ExchangeOp::create(builder, loc, type, value, axes);
  }
  llvm_unreachable("all steps are listed");
}

/// Builds the steps of the cheapest plan on one mesh.
static Value buildPlan(OpBuilder &builder, Location loc, Value value,
                       const Sharding &to) {
  dtorch::TensorType type = globalType(value.getType());
  Sharding from = shardingAttr(value).getSharding();
  if (from == to)
    return value;
  Type wanted = placedType(builder.getContext(), type, to);
  for (const RedistributeStep &step :
       planRedistribute(from, to, type.shape, itemSize(type.dtype)).steps)
    value = buildStep(builder, loc, step, value);
  if (value.getType() == wanted)
    return value;
  // One layout under two names: the same memory under another type.
  return createComputeOp(builder, loc, "view", value,
                         {{"shape", std::vector<int64_t>(type.shape)}}, wanted)
      ->getResult(0);
}

/// The cheapest sharding without pending axes to gather to the host from. The
/// gather's own bytes are the same for all. Truth table on one pending axis of
/// a mesh of k devices, for n elements:
///   P -> R     all-reduce, about 2n(k-1)/k
///   P -> S(d)  reduce-scatter, about n(k-1)/k: taken, but for 0-dim tensors
static Sharding reducedForHost(const Sharding &from,
                               const dtorch::TensorType &type) {
  std::vector<Sharding> candidates{from};
  for (int64_t axis = 0; axis < from.mesh->ndim(); ++axis) {
    if (!from.placements[axis].isPartial())
      continue;
    std::vector<Sharding> next;
    for (const Sharding &base : candidates)
      for (int64_t dim = -1; dim < static_cast<int64_t>(type.shape.size());
           ++dim) {
        Sharding option = base;
        option.placements[axis] =
            dim < 0 ? Placement::replicate() : Placement::shard(dim);
        next.push_back(std::move(option));
      }
    candidates = std::move(next);
  }
  const Sharding *best = nullptr;
  std::pair<int64_t, int64_t> bestCost;
  for (Sharding &candidate : candidates) {
    // Axes that shard one dim have one unit; a new shard takes the others'.
    for (Placement &placement : candidate.placements)
      for (const Placement &other : from.placements)
        if (placement.isShard() && other.isShard(placement.dim))
          placement.unit = other.unit;
    candidate = normalised(candidate, type.shape);
    const RedistributePlan &plan =
        planRedistribute(from, candidate, type.shape, itemSize(type.dtype));
    std::pair<int64_t, int64_t> cost{plan.bytes, plan.collectives};
    if (!best || cost < bestCost) {
      best = &candidate;
      bestCost = cost;
    }
  }
  return *best;
}

static LogicalResult lowerRedistribute(RedistributeOp op) {
  ShardingAttr fromAttr = shardingAttr(op.getInput());
  if (!fromAttr)
    return op.emitError() << "redistribute: operand must have a sharding; run "
                             "dtorch-infer-placements";
  Sharding from = fromAttr.getSharding();
  Sharding to = shardingAttr(op.getResult()).getSharding();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value value = op.getInput();
  Type type = op.getResult().getType();
  if (sameMesh(from.mesh, to.mesh)) {
    value = buildPlan(builder, loc, value, to);
  } else if (from.isHost()) {
    value = FromHostOp::create(builder, loc, type, value);
  } else if (to.isHost()) {
    dtorch::TensorType tensor = globalType(type);
    value = buildPlan(builder, loc, value, reducedForHost(from, tensor));
    value = ToHostOp::create(builder, loc, type, value);
  } else {
    return op.emitError() << "redistribute: from " << from.mesh->str() << " to "
                          << to.mesh->str() << " is not available yet";
  }
  op.getResult().replaceAllUsesWith(value);
  op.erase();
  return success();
}

void LowerRedistributes::runOnOperation() {
  FailureOr<std::vector<func::FuncOp>> functions = functionsOf(getOperation());
  if (failed(functions))
    return signalPassFailure();
  for (func::FuncOp func : *functions)
    for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
      if (!isa<func::CallOp>(op))
        countOp(opsVisited);
      auto redistribute = dyn_cast<RedistributeOp>(op);
      if (redistribute &&
          failed(guarded(&op, [&] { return lowerRedistribute(redistribute); })))
        return signalPassFailure();
    }
}
