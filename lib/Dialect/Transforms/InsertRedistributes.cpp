//===- InsertRedistributes.cpp - make operands match a row ----------------===//
//
// Inference has settled where results lie; the same question is asked again for
// the operands that the chosen row wants.
//
//===----------------------------------------------------------------------===//

#include "dtorch/Dialect/IR/CollectiveOps.h"
#include "dtorch/Dialect/Transforms/Passes.h"

#include "PlaceOp.h"

namespace dtorch {
#define GEN_PASS_DEF_INSERTREDISTRIBUTES
#include "dtorch/Dialect/Transforms/Passes.h.inc"
} // namespace dtorch

using namespace mlir;
using namespace dtorch;

namespace {

class InsertRedistributes
    : public dtorch::impl::InsertRedistributesBase<InsertRedistributes> {
  void runOnOperation() override;

  LogicalResult visitFunction(func::FuncOp func);
  LogicalResult visitCompute(Operation *op);
  Value change(Operation *op, unsigned operand, const Placing &placing);

  /// Changed values of the function at hand, by value and new type.
  llvm::DenseMap<std::pair<Value, Type>, Value> changed;
};

} // namespace

/// Tells what an inserted change costs. Host operands join without
/// communication.
static void remarkCost(Operation *op, unsigned operand,
                       const Placing &placing) {
  const dtorch::TensorType &type = placing.call.operands[operand];
  const RedistributePlan &plan = planRedistribute(
      placing.joined[operand], placing.choice->operands[operand], type.shape,
      itemSize(type.dtype));
  if (plan.collectives == 0)
    return;
  std::string kinds;
  for (const RedistributeStep &step : plan.steps)
    if (!isLocal(step.kind))
      kinds += (kinds.empty() ? "" : ", ") + std::string(toString(step.kind));
  op->emitRemark() << subjectOf(placing.call) << ": held "
                   << placementsText(placing.call, placing.held) << "; needed "
                   << placementsText(placing.call, placing.choice->operands)
                   << "; inserted " << kinds << " of operand " << operand
                   << ", " << plan.bytes << " bytes at the busiest device";
}

Value InsertRedistributes::change(Operation *op, unsigned operand,
                                  const Placing &placing) {
  Value value = op->getOperand(operand);
  Type type = placedType(&getContext(), placing.call.operands[operand],
                         placing.choice->operands[operand]);
  Value &known = changed[{value, type}];
  if (!known) {
    remarkCost(op, operand, placing);
    OpBuilder builder(op);
    known = RedistributeOp::create(builder, op->getLoc(), type, value);
  }
  return known;
}

LogicalResult InsertRedistributes::visitCompute(Operation *op) {
  FailureOr<Placing> placing = placeOp(op);
  if (failed(placing))
    return failure();
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (!(placing->held[i] == placing->choice->operands[i]))
      op->setOperand(i, change(op, i, *placing));
  return success();
}

LogicalResult InsertRedistributes::visitFunction(func::FuncOp func) {
  changed.clear();
  for (Operation &op : func.getBody().front()) {
    if (isa<func::CallOp>(op))
      continue;
    countOp(opsVisited);
    if (auto redistribute = dyn_cast<RedistributeOp>(op))
      // An explicit change serves later ops too.
      changed.try_emplace(
          {redistribute.getInput(), redistribute.getResult().getType()},
          redistribute.getResult());
    else if (isa<ComputeOpInterface>(op) &&
             failed(guarded(&op, [&] { return visitCompute(&op); })))
      return failure();
  }
  return success();
}

void InsertRedistributes::runOnOperation() {
  FailureOr<std::vector<func::FuncOp>> functions = functionsOf(getOperation());
  if (failed(functions))
    return signalPassFailure();
  for (func::FuncOp func : *functions)
    if (failed(visitFunction(func)))
      return signalPassFailure();
  setPhase(getOperation(), "placed");
}
