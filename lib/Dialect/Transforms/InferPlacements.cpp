//===- InferPlacements.cpp - give every tensor a sharding -----------------===//
//
// Forward, in program order; a callee is inferred when its first call is
// reached, so its argument types are known.
//
//===----------------------------------------------------------------------===//

#include "dtorch/Dialect/IR/CollectiveOps.h"
#include "dtorch/Dialect/Transforms/Passes.h"

#include "PlaceOp.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

#include <map>

namespace dtorch {
#define GEN_PASS_DEF_INFERPLACEMENTS
#include "dtorch/Dialect/Transforms/Passes.h.inc"
} // namespace dtorch

using namespace mlir;
using namespace dtorch;

namespace {

/// Argument types that a function is inferred for.
using Signature = std::vector<const void *>;

class InferPlacements
    : public dtorch::impl::InferPlacementsBase<InferPlacements> {
  void runOnOperation() override;
};

/// The work on one module.
class Inference {
public:
  Inference(ModuleOp module, mlir::Pass::Statistic &opsVisited)
      : module(module), symbols(module), opsVisited(opsVisited) {}
  LogicalResult run();

private:
  LogicalResult inferEntry(func::FuncOp func);
  LogicalResult inferBody(func::FuncOp func);
  LogicalResult inferOp(Operation *op);
  LogicalResult inferCompute(Operation *op);
  LogicalResult inferRedistribute(RedistributeOp op);
  LogicalResult inferCall(func::CallOp call);
  LogicalResult inferReturn(func::ReturnOp op);

  /// The callee for these argument types: itself for the first signature, a
  /// copy for each other one. Infers it when it is new.
  FailureOr<func::FuncOp> specialise(func::CallOp call);
  func::FuncOp cloneCallee(func::FuncOp callee, Operation *untouched);
  void eraseUnused();

  ModuleOp module;
  SymbolTable symbols;
  mlir::Pass::Statistic &opsVisited;
  /// By callee: how it looked before inference, for further signatures.
  std::map<Operation *, OwningOpRef<func::FuncOp>> originals;
  std::map<std::pair<Operation *, Signature>, func::FuncOp> specialised;
  llvm::SetVector<Operation *> visited, open;
};

} // namespace

/// The type under the normal form of its sharding; null if it has none.
static Type normalType(Type type) {
  ShardingAttr sharding = shardingAttr(type);
  if (!sharding)
    return {};
  dtorch::TensorType global = globalType(type);
  return placedType(type.getContext(), global,
                    normalised(sharding.getSharding(), global.shape));
}

LogicalResult Inference::inferEntry(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    Type type = normalType(argument.getType());
    if (!type)
      type = placedType(module.getContext(), globalType(argument.getType()),
                        Sharding::host());
    argument.setType(type);
  }
  return inferBody(func);
}

LogicalResult Inference::inferBody(func::FuncOp func) {
  if (!open.insert(func))
    return func.emitError()
           << "function @" << func.getSymName() << ": must not call itself";
  visited.insert(func);
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front()))
    if (failed(guarded(&op, [&] { return inferOp(&op); })))
      return failure();
  updateFunctionType(func);
  open.remove(func);
  return success();
}

LogicalResult Inference::inferOp(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return inferCall(call);
  countOp(opsVisited);
  if (isa<ComputeOpInterface>(op))
    return inferCompute(op);
  if (auto redistribute = dyn_cast<RedistributeOp>(op))
    return inferRedistribute(redistribute);
  if (auto ret = dyn_cast<func::ReturnOp>(op))
    return inferReturn(ret);
  if (isa<UnrealizedConversionCastOp>(op) && op->getNumOperands() == 1) {
    // Between a type with a sharding and one without: both have one now.
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
    return success();
  }
  return op->emitError() << "dtorch-infer-placements: must be a compute op, "
                            "redistribute, call or return, got "
                         << op->getName();
}

LogicalResult Inference::inferCompute(Operation *op) {
  FailureOr<Placing> placing = placeOp(op);
  if (failed(placing))
    return failure();
  for (auto [result, sharding] :
       llvm::zip_equal(op->getResults(), placing->choice->results))
    result.setType(placedType(module.getContext(), globalType(result.getType()),
                              sharding));
  return success();
}

LogicalResult Inference::inferRedistribute(RedistributeOp op) {
  op.getResult().setType(
      cast<RankedTensorType>(normalType(op.getResult().getType())));
  return success();
}

LogicalResult Inference::inferCall(func::CallOp call) {
  FailureOr<func::FuncOp> callee = specialise(call);
  if (failed(callee))
    return failure();
  call.setCallee(callee->getSymName());
  for (auto [result, type] :
       llvm::zip_equal(call.getResults(), callee->getResultTypes()))
    result.setType(type);
  return success();
}

/// A declared sharding of a result is a promise that the body must keep.
LogicalResult Inference::inferReturn(func::ReturnOp op) {
  auto func = cast<func::FuncOp>(op->getParentOp());
  for (auto [index, operand, declared] :
       llvm::enumerate(op.getOperands(), func.getResultTypes())) {
    Type wanted = normalType(declared);
    if (wanted && wanted != operand.getType())
      return op.emitError()
             << "return: result " << index << " of @" << func.getSymName()
             << " is declared " << declared << ", got " << operand.getType()
             << "; redistribute it first";
  }
  return success();
}

func::FuncOp Inference::cloneCallee(func::FuncOp callee, Operation *untouched) {
  auto copy = cast<func::FuncOp>(untouched->clone());
  std::string name;
  for (int64_t suffix = 1;; ++suffix) {
    name = (callee.getSymName() + "_" + Twine(suffix)).str();
    if (!symbols.lookup(name))
      break;
  }
  copy.setSymName(name);
  symbols.insert(copy, std::next(Block::iterator(callee)));
  return copy;
}

FailureOr<func::FuncOp> Inference::specialise(func::CallOp call) {
  // Calls still name the original, whose entry in `originals` is the key.
  func::FuncOp callee = lookupCallee(call, symbols);
  if (!callee)
    return failure();
  Signature signature;
  for (Type type : call.getOperandTypes())
    signature.push_back(type.getAsOpaquePointer());
  auto [known, isNew] = specialised.try_emplace({callee, signature});
  if (!isNew) {
    if (open.contains(known->second))
      return call.emitError()
             << "function @" << callee.getSymName() << ": must not call itself";
    return known->second;
  }
  OwningOpRef<func::FuncOp> &original = originals[callee];
  func::FuncOp target = callee;
  if (!original)
    original = callee.clone();
  else
    target = cloneCallee(callee, *original);
  known->second = target;
  for (auto [argument, operand] :
       llvm::zip_equal(target.getArguments(), call.getOperands()))
    argument.setType(operand.getType());
  if (failed(inferBody(target)))
    return failure();
  return target;
}

void Inference::eraseUnused() {
  for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (func.isPrivate() && !visited.contains(func))
      func.erase();
}

LogicalResult Inference::run() {
  // Copies are inserted on the way, so entries are collected first.
  std::vector<func::FuncOp> entries;
  FailureOr<std::vector<func::FuncOp>> functions = functionsOf(module);
  if (failed(functions))
    return failure();
  for (func::FuncOp func : *functions)
    if (!func.isPrivate())
      entries.push_back(func);
  for (func::FuncOp func : entries)
    if (failed(guarded(func, [&] { return inferEntry(func); })))
      return failure();
  eraseUnused();
  return success();
}

void InferPlacements::runOnOperation() {
  if (failed(Inference(getOperation(), opsVisited).run()))
    signalPassFailure();
}
