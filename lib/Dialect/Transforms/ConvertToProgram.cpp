//===- ConvertToProgram.cpp - programs over buffers -----------------------===//

#include "dtorch/Dialect/IR/CollectiveOps.h"
#include "dtorch/Dialect/IR/ComputeOps.h"
#include "dtorch/Dialect/IR/ProgramOps.h"
#include "dtorch/Dialect/Transforms/Passes.h"

#include "PassSupport.h"

namespace dtorch {
#define GEN_PASS_DEF_CONVERTTOPROGRAM
#include "dtorch/Dialect/Transforms/Passes.h.inc"
} // namespace dtorch

using namespace mlir;
using namespace dtorch;

namespace {

class ConvertToProgram
    : public dtorch::impl::ConvertToProgramBase<ConvertToProgram> {
  void runOnOperation() override;
};

/// Makes the program function of one function.
class FunctionConversion {
public:
  FunctionConversion(func::FuncOp func, OpBuilder &builder)
      : func(func), builder(builder) {}
  LogicalResult run(mlir::Pass::Statistic &opsVisited);

private:
  void addArguments();
  void addResults();
  LogicalResult addValues(Operation &op);
  LogicalResult addInstruction(Operation &op);
  void addCopies(func::ReturnOp ret);
  Value addBuffer(Location loc, StringRef kind, int64_t value, Type tensor,
                  Value source = {}, StringAttr label = {},
                  bool parameter = false);
  Value aliasOf(Location loc, Value handle, Type tensor);
  SmallVector<Value> handles(ValueRange values);

  func::FuncOp func;
  OpBuilder &builder;
  llvm::DenseMap<Value, Value> handleOf; ///< by tensor value
  SmallVector<Value> results;            ///< handles of the result buffers
};

} // namespace

static ProgramBufferType bufferType(Type tensor) {
  if (!isLocalType(tensor))
    throw Error("dtorch-convert-to-program: tensors must be local; run "
                "dtorch-convert-global-to-local");
  dtorch::TensorType type = globalType(tensor);
  return ProgramBufferType::get(tensor.getContext(), type.shape,
                                toMLIR(tensor.getContext(), type.dtype),
                                shardingAttr(tensor));
}

Value FunctionConversion::addBuffer(Location loc, StringRef kind, int64_t value,
                                    Type tensor, Value source, StringAttr label,
                                    bool parameter) {
  return BufferOp::create(builder, loc, builder.getType<HandleType>(),
                          builder.getStringAttr(kind),
                          builder.getI64IntegerAttr(value), source, label,
                          parameter ? builder.getUnitAttr() : UnitAttr(),
                          TypeAttr::get(bufferType(tensor)));
}

void FunctionConversion::addArguments() {
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto name = func.getArgAttrOfType<StringAttr>(index, kNameAttr);
    if (!name && func.isPublic())
      name = builder.getStringAttr("arg" + Twine(index));
    handleOf[argument] =
        addBuffer(argument.getLoc(), "argument", index, argument.getType(), {},
                  name, !!func.getArgAttr(index, kParameterAttr));
  }
}

void FunctionConversion::addResults() {
  for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
    auto name = func.getResultAttrOfType<StringAttr>(index, kNameAttr);
    if (!name && func.isPublic())
      name = builder.getStringAttr("output" + Twine(index));
    results.push_back(
        addBuffer(func.getLoc(), "result", index, type, {}, name));
  }
}

/// The memory of `handle` under the type of `tensor`: itself or its storage
/// where that has the type already, else an alias.
Value FunctionConversion::aliasOf(Location loc, Value handle, Type tensor) {
  BufferOp storage = storageOf(bufferOf(handle));
  for (BufferOp candidate : {bufferOf(handle), storage})
    if (candidate.getBufferType() == bufferType(tensor))
      return candidate.getHandle();
  return addBuffer(loc, "alias", 0, tensor, storage.getHandle());
}

LogicalResult FunctionConversion::addValues(Operation &op) {
  if (op.getNumResults() == 0)
    return success();
  auto places = op.getAttrOfType<ArrayAttr>(kMemoryAttr);
  if (!places)
    return op.emitError() << op.getName().stripDialect() << ": must have "
                          << kMemoryAttr << "; run dtorch-plan-buffers";
  for (auto [result, attribute] : llvm::zip_equal(op.getResults(), places)) {
    auto place = cast<MemoryAttr>(attribute);
    if (place.isAlias())
      handleOf[result] =
          aliasOf(op.getLoc(), handleOf[op.getOperand(0)], result.getType());
    else if (place.isResult())
      handleOf[result] =
          aliasOf(op.getLoc(), results[place.getValue()], result.getType());
    else
      handleOf[result] =
          addBuffer(op.getLoc(), "arena", place.getValue(), result.getType());
  }
  return success();
}

SmallVector<Value> FunctionConversion::handles(ValueRange values) {
  return llvm::map_to_vector(values,
                             [&](Value value) { return handleOf[value]; });
}

void FunctionConversion::addCopies(func::ReturnOp ret) {
  for (auto [operand, result] : llvm::zip_equal(ret.getOperands(), results)) {
    Value handle = handleOf[operand];
    if (handle != result)
      CopyOp::create(builder, ret.getLoc(), ValueRange(handle),
                     ValueRange(result));
  }
}

LogicalResult FunctionConversion::addInstruction(Operation &op) {
  Location loc = op.getLoc();
  SmallVector<Value> inputs = handles(op.getOperands());
  SmallVector<Value> outputs = handles(op.getResults());
  auto communicate = [&](StringRef kind, ArrayRef<int64_t> axes) {
    CommunicateOp::create(builder, loc, builder.getStringAttr(kind), inputs,
                          outputs, builder.getDenseI64ArrayAttr(axes));
  };
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    addCopies(ret);
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    auto invoke = InvokeOp::create(
        builder, loc, call.getCalleeAttr().getAttr(), inputs, outputs,
        op.getAttrOfType<IntegerAttr>(kArenaAttr).getInt());
    if (Attribute path = op.getAttr(kModuleAttr))
      invoke->setDiscardableAttr(kModuleAttr, path);
  } else if (auto step = dyn_cast<StepOpInterface>(op)) {
    communicate(toString(step.getStepKind()), step.getAxes());
  } else if (isa<FromHostOp, ToHostOp>(op)) {
    communicate(op.getName().stripDialect(), {});
  } else if (isa<ViewOp>(op)) {
    // Its buffer is an alias.
  } else if (isa<ComputeOpInterface>(op)) {
    LaunchOp::create(builder, loc,
                     builder.getStringAttr(op.getName().stripDialect()), inputs,
                     outputs, toMLIR(op.getContext(), makeOpCall(&op).attrs));
  } else {
    return op.emitError() << "dtorch-convert-to-program: must be a compute op, "
                             "step, call or return, got "
                          << op.getName();
  }
  return success();
}

LogicalResult FunctionConversion::run(mlir::Pass::Statistic &opsVisited) {
  auto bytes = func->getAttrOfType<IntegerAttr>(kArenaBytesAttr);
  if (!bytes)
    return func.emitError()
           << "function @" << func.getSymName() << ": must have "
           << kArenaBytesAttr << "; run dtorch-plan-buffers";
  auto program = ProgramFuncOp::create(
      builder, func.getLoc(), func.getSymName(),
      func.isPrivate() ? builder.getStringAttr("private") : StringAttr(),
      bytes.getInt());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&program.getBody());
  addArguments();
  addResults();
  Block &body = func.getBody().front();
  for (Operation &op : body)
    if (failed(addValues(op)))
      return failure();
  for (Operation &op : body) {
    if (!isa<func::CallOp>(op))
      countOp(opsVisited);
    if (failed(addInstruction(op)))
      return failure();
  }
  return success();
}

void ConvertToProgram::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<std::vector<func::FuncOp>> order = calleesFirst(module);
  if (failed(order))
    return signalPassFailure();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (func::FuncOp func : *order)
    if (failed(guarded(func, [&] {
          return FunctionConversion(func, builder).run(opsVisited);
        })))
      return signalPassFailure();
  for (func::FuncOp func : *order)
    func.erase();
  setPhase(module, "program");
}
