//===- VerifyPlacements.cpp - check the placed phase ----------------------===//

#include "dtorch/Dialect/IR/CollectiveOps.h"
#include "dtorch/Dialect/Transforms/Passes.h"

#include "PlaceOp.h"

namespace dtorch {
#define GEN_PASS_DEF_VERIFYPLACEMENTS
#include "dtorch/Dialect/Transforms/Passes.h.inc"
} // namespace dtorch

using namespace mlir;
using namespace dtorch;

namespace {
class VerifyPlacements
    : public dtorch::impl::VerifyPlacementsBase<VerifyPlacements> {
  void runOnOperation() override;
  LogicalResult verifyOp(Operation *op);
};
} // namespace

/// Has a sharding, in normal form, and is not a local type.
static LogicalResult verifyType(Operation *op, Value value) {
  ShardingAttr attr = shardingAttr(value);
  if (!attr || isLocalType(value.getType()))
    return op->emitError() << op->getName().stripDialect()
                           << ": tensors of the placed phase must have a "
                              "sharding, got "
                           << value.getType()
                           << "; run dtorch-infer-placements";
  Sharding sharding = attr.getSharding();
  Sharding normal = normalised(sharding, globalType(value.getType()).shape);
  if (!(normal == sharding))
    return op->emitError() << op->getName().stripDialect()
                           << ": shardings must be in normal form, "
                           << normal.placementsStr() << ", got "
                           << sharding.placementsStr();
  return success();
}

LogicalResult VerifyPlacements::verifyOp(Operation *op) {
  for (Value operand : op->getOperands())
    if (failed(verifyType(op, operand)))
      return failure();
  for (Value result : op->getResults())
    if (failed(verifyType(op, result)))
      return failure();
  // Calls and returns have the types of functions, which MLIR checks.
  if (isa<RedistributeOp, func::CallOp, func::ReturnOp>(op))
    return success();
  if (isa<ComputeOpInterface>(op))
    return verifyPlaced(op);
  return op->emitError() << "dtorch-verify-placements: must be a compute op, "
                            "redistribute, call or return, got "
                         << op->getName();
}

void VerifyPlacements::runOnOperation() {
  FailureOr<std::vector<func::FuncOp>> functions = functionsOf(getOperation());
  if (failed(functions))
    return signalPassFailure();
  for (func::FuncOp func : *functions)
    for (Operation &op : func.getBody().front()) {
      if (!isa<func::CallOp>(op))
        countOp(opsVisited);
      if (failed(guarded(&op, [&] { return verifyOp(&op); })))
        return signalPassFailure();
    }
}
