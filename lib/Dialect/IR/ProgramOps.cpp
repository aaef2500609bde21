//===- ProgramOps.cpp - program functions, buffers, instructions ----------===//

#include "dtorch/Dialect/IR/ProgramOps.h"

#include "dtorch/Dialect/IR/CollectiveOps.h"
#include "dtorch/Dialect/IR/Conversions.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace dtorch;

#define GET_OP_CLASSES
#include "dtorch/Dialect/IR/ProgramOps.cpp.inc"

void DtorchDialect::registerProgramOps() {
  addOperations<
#define GET_OP_LIST
#include "dtorch/Dialect/IR/ProgramOps.cpp.inc"
      >();
}

BufferOp dtorch::bufferOf(Value handle) {
  return cast<BufferOp>(handle.getDefiningOp());
}

BufferOp dtorch::storageOf(BufferOp buffer) {
  while (buffer.isAlias())
    buffer = bufferOf(buffer.getSource());
  return buffer;
}

int64_t dtorch::arenaBytes(ProgramBufferType type) {
  Shape largest =
      maxLocalShape(type.getShape(), type.getSharding().getSharding());
  int64_t bytes =
      numElements(largest) * itemSize(toDType(type.getElementType()));
  return llvm::alignTo(bytes, kBufferAlignment);
}

static dtorch::TensorType tensorTypeOf(ProgramBufferType type) {
  return {Shape(type.getShape()), toDType(type.getElementType())};
}

/// Handles must come from buffer ops, or nothing can be said of them.
static LogicalResult verifyHandles(Operation *op) {
  for (Value handle : op->getOperands())
    if (!handle.getDefiningOp<BufferOp>())
      return op->emitError() << op->getName().stripDialect()
                             << ": handles must come from dtorch.buffer";
  return success();
}

//===----------------------------------------------------------------------===//
// Program functions
//===----------------------------------------------------------------------===//

ParseResult ProgramFuncOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  int64_t bytes;
  if (succeeded(parser.parseOptionalKeyword("private")))
    result.addAttribute(SymbolTable::getVisibilityAttrName(),
                        builder.getStringAttr("private"));
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      parser.parseKeyword("arena") || parser.parseInteger(bytes) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute("arena_bytes", builder.getI64IntegerAttr(bytes));
  Region *body = result.addRegion();
  if (parser.parseRegion(*body))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}

void ProgramFuncOp::print(OpAsmPrinter &printer) {
  printer << (isPrivate() ? " private " : " ");
  printer.printSymbolName(getSymName());
  printer << " arena " << getArenaBytes();
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {SymbolTable::getSymbolAttrName(), SymbolTable::getVisibilityAttrName(),
       "arena_bytes"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (isArgument())
    setName(getHandle(), "arg" + std::to_string(getValue()));
  else if (isResult())
    setName(getHandle(), "result" + std::to_string(getValue()));
}

ParseResult BufferOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  auto handle = HandleType::get(parser.getContext());
  StringRef kind;
  if (parser.parseKeyword(&kind))
    return failure();
  result.addAttribute("kind", builder.getStringAttr(kind));
  if (kind == "alias") {
    OpAsmParser::UnresolvedOperand source;
    if (parser.parseOperand(source) ||
        parser.resolveOperand(source, handle, result.operands))
      return failure();
  } else {
    int64_t value;
    if (parser.parseInteger(value))
      return failure();
    result.addAttribute("value", builder.getI64IntegerAttr(value));
  }
  std::string label;
  if (succeeded(parser.parseOptionalString(&label)))
    result.addAttribute("label", builder.getStringAttr(label));
  if (succeeded(parser.parseOptionalKeyword("parameter")))
    result.addAttribute("parameter", builder.getUnitAttr());
  ProgramBufferType type;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type))
    return failure();
  result.addAttribute("holds", TypeAttr::get(type));
  result.addTypes(handle);
  return success();
}

void BufferOp::print(OpAsmPrinter &printer) {
  printer << " " << getKind() << " ";
  if (isAlias())
    printer << getSource();
  else
    printer << getValue();
  if (getLabel()) {
    printer << " ";
    printer.printAttributeWithoutType(getLabelAttr());
  }
  if (getParameter())
    printer << " parameter";
  printer.printOptionalAttrDict(
      (*this)->getAttrs(), {"kind", "value", "label", "parameter", "holds"});
  printer << " : " << getBufferType();
}

/// Whether every device holds as many bytes under both types.
static bool sameBytes(ProgramBufferType a, ProgramBufferType b) {
  Sharding from = a.getSharding().getSharding();
  Sharding to = b.getSharding().getSharding();
  if (!sameMesh(from.mesh, to.mesh))
    return false;
  int64_t fromSize = itemSize(toDType(a.getElementType()));
  int64_t toSize = itemSize(toDType(b.getElementType()));
  for (int64_t device = 0; device < from.mesh->numDevices(); ++device) {
    Shape at = from.mesh->coordinates(device);
    if (localBox(a.getShape(), from, at).numElements() * fromSize !=
        localBox(b.getShape(), to, at).numElements() * toSize)
      return false;
  }
  return true;
}

LogicalResult BufferOp::verify() {
  if (failed(verifyHandles(*this)))
    return failure();
  if (!llvm::is_contained({"argument", "result", "arena", "alias"}, getKind()))
    return emitError() << "buffer: kind must be argument, result, arena or "
                          "alias, got "
                       << getKind();
  // ODS accessors of integers are unsigned.
  int64_t value = getValue();
  if (value < 0)
    return emitError() << "buffer: " << getKind() << " must be >= 0, got "
                       << value;
  if (isArena() && value % kBufferAlignment)
    return emitError() << "buffer: arena offset must be a multiple of "
                       << kBufferAlignment << ", got " << value;
  if (isAlias() != static_cast<bool>(getSource()))
    return emitError() << "buffer: an alias, and nothing else, has a source";
  if (getParameter() && !isArgument())
    return emitError() << "buffer: only an argument can be a parameter";
  if (isAlias() &&
      !sameBytes(getBufferType(), bufferOf(getSource()).getBufferType()))
    return emitError() << "buffer: an alias must have as many bytes on every "
                          "device as its source, got "
                       << getBufferType() << " of "
                       << bufferOf(getSource()).getBufferType();
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

static LogicalResult verifyCounts(Operation *op, OperandRange inputs,
                                  OperandRange outputs) {
  if (inputs.size() == 1 && outputs.size() == 1)
    return success();
  return op->emitError() << op->getName().stripDialect()
                         << ": must have 1 input and 1 output, got "
                         << inputs.size() << " and " << outputs.size();
}

static LogicalResult verifyOneMesh(Operation *op) {
  MeshAttr mesh;
  for (Value handle : op->getOperands()) {
    MeshAttr found = bufferOf(handle).getBufferType().getSharding().getMesh();
    if (mesh && found != mesh)
      return op->emitError() << "launch: buffers must be on one mesh, got "
                             << mesh << " and " << found;
    mesh = found;
  }
  return success();
}

/// The call that a launch makes, by global types.
static OpCall makeCall(LaunchOp launch) {
  OpCall call;
  call.op = lookupOp(launch.getKernel());
  if (!call.op)
    throw Error("launch: no op named \"" + launch.getKernel().str() + "\"");
  for (Value input : launch.getInputs())
    call.operands.push_back(tensorTypeOf(bufferOf(input).getBufferType()));
  call.attrs = toAttrs(launch.getAttrs());
  return call;
}

static std::vector<Sharding> shardingsOf(OperandRange handles) {
  std::vector<Sharding> shardings;
  for (Value handle : handles)
    shardings.push_back(
        bufferOf(handle).getBufferType().getSharding().getSharding());
  return shardings;
}

LogicalResult LaunchOp::verify() {
  if (failed(verifyHandles(*this)) || failed(verifyOneMesh(*this)))
    return failure();
  try {
    OpCall call = makeCall(*this);
    std::vector<dtorch::TensorType> results = inferTypes(call);
    if (results.size() != getOutputs().size())
      return emitError() << "launch: " << getKernel() << " must have "
                         << results.size() << " outputs, got "
                         << getOutputs().size();
    for (auto [output, result] : llvm::zip_equal(getOutputs(), results)) {
      dtorch::TensorType found = tensorTypeOf(bufferOf(output).getBufferType());
      if (!(found == result))
        return emitError() << "launch: " << getKernel() << " gives "
                           << result.str() << ", but the output is "
                           << found.str();
    }
    if (!matches(bindRule(call), shardingsOf(getInputs()),
                 shardingsOf(getOutputs())))
      return emitError() << "launch: placements match no row of the rule of "
                         << getKernel();
  } catch (const Error &error) {
    return emitError() << error.what();
  }
  return success();
}

LogicalResult CommunicateOp::verify() {
  if (failed(verifyHandles(*this)) ||
      failed(verifyCounts(*this, getInputs(), getOutputs())))
    return failure();
  ProgramBufferType from = bufferOf(getInputs()[0]).getBufferType();
  ProgramBufferType to = bufferOf(getOutputs()[0]).getBufferType();
  if (from.getShape() != to.getShape() ||
      from.getElementType() != to.getElementType())
    return emitError() << "communicate: buffers must have one shape and "
                          "element type, got "
                       << from << " and " << to;
  try {
    std::string problem = communicationProblem(
        getKind(), getAxes(), from.getSharding().getSharding(),
        to.getSharding().getSharding(), from.getShape());
    if (!problem.empty())
      return emitError() << "communicate: " << getKind() << ": " << problem;
  } catch (const Error &error) {
    return emitError() << "communicate: " << error.what();
  }
  return success();
}

LogicalResult CopyOp::verify() {
  if (failed(verifyHandles(*this)) ||
      failed(verifyCounts(*this, getInputs(), getOutputs())))
    return failure();
  ProgramBufferType from = bufferOf(getInputs()[0]).getBufferType();
  ProgramBufferType to = bufferOf(getOutputs()[0]).getBufferType();
  if (from != to)
    return emitError() << "copy: buffers must have one type, got " << from
                       << " and " << to;
  return success();
}

LogicalResult InvokeOp::verify() {
  if (failed(verifyHandles(*this)))
    return failure();
  int64_t offset = getOffset();
  if (offset < 0 || offset % kBufferAlignment)
    return emitError() << "invoke: arena offset must be a multiple of "
                       << kBufferAlignment << ", got " << offset;
  return success();
}

/// Checks handles against the callee's buffers of one kind, by index.
static LogicalResult verifyPassed(InvokeOp invoke, ProgramFuncOp callee,
                                  StringRef kind, OperandRange handles) {
  size_t count = 0;
  for (auto buffer : callee.getBody().getOps<BufferOp>()) {
    if (buffer.getKind() != kind)
      continue;
    ++count;
    size_t index = buffer.getValue();
    if (index >= handles.size())
      continue;
    ProgramBufferType found = bufferOf(handles[index]).getBufferType();
    if (found != buffer.getBufferType())
      return invoke.emitError() << "invoke: " << kind << " " << index << " of @"
                                << callee.getSymName() << " is "
                                << buffer.getBufferType() << ", got " << found;
  }
  if (count != handles.size())
    return invoke.emitError()
           << "invoke: @" << callee.getSymName() << " has " << count << " "
           << kind << "s, got " << handles.size();
  return success();
}

LogicalResult InvokeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee =
      symbols.lookupNearestSymbolFrom<ProgramFuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitError() << "invoke: no program function @" << getCallee();
  if (failed(verifyPassed(*this, callee, "argument", getInputs())) ||
      failed(verifyPassed(*this, callee, "result", getOutputs())))
    return failure();
  int64_t arena = cast<ProgramFuncOp>((*this)->getParentOp()).getArenaBytes();
  int64_t end = getOffset() + callee.getArenaBytes();
  if (end > arena)
    return emitError() << "invoke: the arena of @" << callee.getSymName()
                       << " (" << callee.getArenaBytes() << " bytes at "
                       << getOffset() << ") must lie in the caller's " << arena
                       << " bytes";
  return success();
}
