//===- VerifyLocal.cpp - check the local phase ----------------------------===//

#include "dtorch/Dialect/IR/CollectiveOps.h"
#include "dtorch/Dialect/Transforms/Passes.h"

#include "PlaceOp.h"

namespace dtorch {
#define GEN_PASS_DEF_VERIFYLOCAL
#include "dtorch/Dialect/Transforms/Passes.h.inc"
} // namespace dtorch

using namespace mlir;
using namespace dtorch;

namespace {
class VerifyLocal : public dtorch::impl::VerifyLocalBase<VerifyLocal> {
  void runOnOperation() override;
  LogicalResult verifyOp(Operation *op);
};
} // namespace

LogicalResult VerifyLocal::verifyOp(Operation *op) {
  for (ValueRange values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      if (!isLocalType(value.getType()))
        return op->emitError()
               << op->getName().stripDialect()
               << ": tensors of the local phase must have #dtorch.local, got "
               << value.getType() << "; run dtorch-convert-global-to-local";
  // Step ops check themselves; calls and returns have the types of functions.
  if (isa<StepOpInterface, FromHostOp, ToHostOp, func::CallOp, func::ReturnOp>(
          op))
    return success();
  if (isa<ComputeOpInterface>(op))
    return verifyPlaced(op);
  return op->emitError() << "dtorch-verify-local: must be a compute op, step, "
                            "call or return, got "
                         << op->getName();
}

void VerifyLocal::runOnOperation() {
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
