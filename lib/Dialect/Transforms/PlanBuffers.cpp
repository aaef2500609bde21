//===- PlanBuffers.cpp - place every value in memory ----------------------===//
//
// Per function, callees first, since a call needs to know its callee's arena.
//
//===----------------------------------------------------------------------===//

#include "dtorch/Dialect/IR/ComputeOps.h"
#include "dtorch/Dialect/IR/ProgramOps.h"
#include "dtorch/Dialect/Transforms/Passes.h"

#include "MemoryPlan.h"
#include "PassSupport.h"

namespace dtorch {
#define GEN_PASS_DEF_PLANBUFFERS
#include "dtorch/Dialect/Transforms/Passes.h.inc"
} // namespace dtorch

using namespace mlir;
using namespace dtorch;

namespace {

class PlanBuffers : public dtorch::impl::PlanBuffersBase<PlanBuffers> {
  void runOnOperation() override;
};

/// The plan of one function.
class FunctionPlan {
public:
  explicit FunctionPlan(func::FuncOp func, SymbolTable &symbols)
      : func(func), symbols(symbols) {}
  LogicalResult run(mlir::Pass::Statistic &opsVisited);

private:
  void findLastUses();
  void claimResults();
  void requestMemory();
  void setAttributes(int64_t bytes);

  func::FuncOp func;
  SymbolTable &symbols;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseMap<Value, int64_t> lastUse; ///< by storage
  llvm::DenseMap<Value, int64_t>
      resultIndex; ///< storage written for the caller
  llvm::DenseMap<Value, size_t> valueRequest;
  llvm::DenseMap<Operation *, size_t> callRequest;
  std::vector<MemoryRequest> requests;
};

} // namespace

/// The value whose memory `value` shares: a view that matches its rule is its
/// operand's memory read under another shape.
static Value storageOf(Value value) {
  while (auto view = value.getDefiningOp<ViewOp>())
    value = view.getInput();
  return value;
}

static int64_t bytesOf(Value value) {
  dtorch::TensorType type = globalType(value.getType());
  return arenaBytes(ProgramBufferType::get(
      value.getContext(), type.shape, toMLIR(value.getContext(), type.dtype),
      shardingAttr(value)));
}

/// Uses through views count for the storage.
void FunctionPlan::findLastUses() {
  for (auto [index, op] : llvm::enumerate(func.getBody().front())) {
    position[&op] = index;
    for (Value operand : op.getOperands())
      lastUse[storageOf(operand)] = index;
  }
}

/// A returned value is written into the caller's memory at once, unless it is
/// an argument or stands in another result already; those are copied.
void FunctionPlan::claimResults() {
  Operation *ret = func.getBody().front().getTerminator();
  for (auto [index, operand] : llvm::enumerate(ret->getOperands())) {
    Value storage = storageOf(operand);
    if (!isa<BlockArgument>(storage))
      resultIndex.try_emplace(storage, index);
  }
}

void FunctionPlan::requestMemory() {
  for (Operation &op : func.getBody().front()) {
    int64_t now = position[&op];
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      callRequest[&op] = requests.size();
      requests.push_back(
          {callee->getAttrOfType<IntegerAttr>(kArenaBytesAttr).getInt(), now,
           now});
    }
    for (Value result : op.getResults()) {
      if (storageOf(result) != result || resultIndex.contains(result))
        continue;
      auto last = lastUse.find(result);
      valueRequest[result] = requests.size();
      requests.push_back(
          {bytesOf(result), now, last == lastUse.end() ? now : last->second});
    }
  }
}

void FunctionPlan::setAttributes(int64_t bytes) {
  Builder builder(func.getContext());
  func->setAttr(kArenaBytesAttr, builder.getI64IntegerAttr(bytes));
  for (Operation &op : func.getBody().front()) {
    SmallVector<Attribute> places;
    for (Value result : op.getResults()) {
      if (storageOf(result) != result)
        places.push_back(MemoryAttr::alias(func.getContext()));
      else if (auto it = resultIndex.find(result); it != resultIndex.end())
        places.push_back(MemoryAttr::result(func.getContext(), it->second));
      else
        places.push_back(MemoryAttr::arena(
            func.getContext(), requests[valueRequest[result]].offset));
    }
    if (!places.empty())
      op.setDiscardableAttr(kMemoryAttr, builder.getArrayAttr(places));
    if (auto call = callRequest.find(&op); call != callRequest.end())
      op.setDiscardableAttr(
          kArenaAttr, builder.getI64IntegerAttr(requests[call->second].offset));
  }
}

LogicalResult FunctionPlan::run(mlir::Pass::Statistic &opsVisited) {
  for (Operation &op : func.getBody().front()) {
    if (!isa<func::CallOp>(op))
      countOp(opsVisited);
    for (Type type : op.getResultTypes())
      if (!isLocalType(type))
        return op.emitError()
               << op.getName().stripDialect() << ": tensors must be local, got "
               << type << "; run dtorch-convert-global-to-local";
  }
  findLastUses();
  claimResults();
  requestMemory();
  setAttributes(planMemory(requests));
  return success();
}

void PlanBuffers::runOnOperation() {
  FailureOr<std::vector<func::FuncOp>> order = calleesFirst(getOperation());
  if (failed(order))
    return signalPassFailure();
  SymbolTable symbols(getOperation());
  for (func::FuncOp func : *order)
    if (failed(guarded(
            func, [&] { return FunctionPlan(func, symbols).run(opsVisited); })))
      return signalPassFailure();
}
