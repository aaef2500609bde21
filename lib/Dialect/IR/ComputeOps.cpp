//===- ComputeOps.cpp - the compute ops -----------------------------------===//

#include "dtorch/Dialect/IR/ComputeOps.h"

#include "dtorch/Dialect/IR/Conversions.h"

using namespace mlir;
using namespace dtorch;

#define GET_OP_CLASSES
#include "dtorch/Dialect/IR/ComputeOps.cpp.inc"

void DtorchDialect::registerComputeOps() {
  addOperations<
#define GET_OP_LIST
#include "dtorch/Dialect/IR/ComputeOps.cpp.inc"
      >();
}

OpCall dtorch::makeOpCall(Operation *op) {
  OpCall call;
  StringRef name = op->getName().stripDialect();
  call.op = lookupOp(name);
  if (!call.op)
    throw Error(name.str() + ": no such op in the op table");
  for (Type type : op->getOperandTypes())
    call.operands.push_back(globalType(type));
  for (const AttrInfo &info : call.op->attrs)
    if (Attribute value = op->getAttr(info.name))
      call.attrs.set(info.name, toAttrValue(value));
  return call;
}

/// Either all tensors are local ones or none is.
static LogicalResult verifyOnePhase(Operation *op) {
  auto isLocal = [](Type type) { return isLocalType(type); };
  if (llvm::all_of(op->getOperandTypes(), isLocal) ==
          llvm::all_of(op->getResultTypes(), isLocal) &&
      llvm::any_of(op->getOperandTypes(), isLocal) ==
          llvm::any_of(op->getResultTypes(), isLocal))
    return success();
  return op->emitError() << op->getName().stripDialect()
                         << ": operands and result must all be local or all "
                            "be global";
}

LogicalResult dtorch::verifyComputeOp(Operation *op) {
  if (failed(verifyOnePhase(op)))
    return failure();
  try {
    std::vector<TensorType> inferred = inferTypes(makeOpCall(op));
    for (auto [result, type] :
         llvm::zip_equal(op->getResultTypes(), inferred)) {
      TensorType found = globalType(result);
      if (!(found == type))
        return op->emitError()
               << op->getName().stripDialect() << ": result must be "
               << type.str() << ", got " << found.str();
    }
  } catch (const Error &error) {
    return op->emitError() << error.what();
  }
  return success();
}
