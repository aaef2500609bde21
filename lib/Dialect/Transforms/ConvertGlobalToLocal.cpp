//===- ConvertGlobalToLocal.cpp - types of one device's part --------------===//

#include "dtorch/Dialect/IR/CollectiveOps.h"
#include "dtorch/Dialect/Transforms/Passes.h"

#include "PassSupport.h"

namespace dtorch {
#define GEN_PASS_DEF_CONVERTGLOBALTOLOCAL
#include "dtorch/Dialect/Transforms/Passes.h.inc"
} // namespace dtorch

using namespace mlir;
using namespace dtorch;

namespace {
class ConvertGlobalToLocal
    : public dtorch::impl::ConvertGlobalToLocalBase<ConvertGlobalToLocal> {
  void runOnOperation() override;
  LogicalResult convertFunction(func::FuncOp func);
};
} // namespace

/// Gives a value its local type; fails where it has no sharding.
static LogicalResult convertValue(Operation *op, Value value) {
  Type type = value.getType();
  ShardingAttr sharding = shardingAttr(type);
  if (!sharding)
    return op->emitError() << op->getName().stripDialect()
                           << ": tensors must have a sharding, got " << type
                           << "; run dtorch-infer-placements";
  value.setType(
      localType(type.getContext(), globalType(type), sharding.getSharding()));
  return success();
}

LogicalResult ConvertGlobalToLocal::convertFunction(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (failed(convertValue(func, argument)))
      return failure();
  for (Operation &op : func.getBody().front()) {
    if (!isa<func::CallOp>(op))
      countOp(opsVisited);
    if (isa<RedistributeOp>(op))
      return op.emitError() << "redistribute: must be lowered before types "
                               "become local; run dtorch-lower-redistributes";
    for (Value result : op.getResults())
      if (failed(convertValue(&op, result)))
        return failure();
  }
  updateFunctionType(func);
  return success();
}

void ConvertGlobalToLocal::runOnOperation() {
  FailureOr<std::vector<func::FuncOp>> functions = functionsOf(getOperation());
  if (failed(functions))
    return signalPassFailure();
  for (func::FuncOp func : *functions)
    if (failed(guarded(func, [&] { return convertFunction(func); })))
      return signalPassFailure();
  setPhase(getOperation(), "local");
}
