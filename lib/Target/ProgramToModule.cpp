//===- ProgramToModule.cpp - a Program becomes program ops ----------------===//

#include "dtorch/Dialect/IR/Conversions.h"
#include "dtorch/Dialect/IR/ProgramOps.h"
#include "dtorch/Target/ProgramTranslation.h"

using namespace mlir;
using namespace dtorch;

namespace {

/// Builds the op of each piece of one function.
class FunctionBuilder {
public:
  FunctionBuilder(OpBuilder &builder, const Program &program,
                  const ProgramFunction &function)
      : builder(builder), program(program), function(function) {}
  void build(bool isEntry);

private:
  void buffer(const ProgramBuffer &buffer);
  void instruction(const Instruction &instruction);
  StringAttr labelOf(const ProgramBuffer &buffer);
  SmallVector<Value> handlesOf(const std::vector<int64_t> &numbers);

  OpBuilder &builder;
  const Program &program;
  const ProgramFunction &function;
  SmallVector<Value> handles; ///< by buffer number
};

} // namespace

static StringRef kindText(ProgramBuffer::Kind kind) {
  switch (kind) {
  case ProgramBuffer::Kind::Argument:
    return "argument";
  case ProgramBuffer::Kind::Result:
    return "result";
  case ProgramBuffer::Kind::Arena:
    return "arena";
  case ProgramBuffer::Kind::Alias:
    return "alias";
  }
  llvm_unreachable("all kinds are listed");
}

StringAttr FunctionBuilder::labelOf(const ProgramBuffer &buffer) {
  if (buffer.kind == ProgramBuffer::Kind::Argument) {
    const std::string &name = function.arguments.at(buffer.index).name;
    return name.empty() ? StringAttr() : builder.getStringAttr(name);
  }
  size_t index = buffer.index;
  if (buffer.kind == ProgramBuffer::Kind::Result &&
      index < function.resultNames.size())
    return builder.getStringAttr(function.resultNames[index]);
  return {};
}

void FunctionBuilder::buffer(const ProgramBuffer &buffer) {
  MLIRContext *context = builder.getContext();
  bool isAlias = buffer.kind == ProgramBuffer::Kind::Alias;
  bool isArena = buffer.kind == ProgramBuffer::Kind::Arena;
  bool parameter = buffer.kind == ProgramBuffer::Kind::Argument &&
                   function.arguments.at(buffer.index).parameter;
  auto type = ProgramBufferType::get(
      context, buffer.type.shape, toMLIR(context, buffer.type.dtype),
      ShardingAttr::get(context, buffer.type.sharding));
  handles.push_back(BufferOp::create(
      builder, builder.getUnknownLoc(), builder.getType<HandleType>(),
      builder.getStringAttr(kindText(buffer.kind)),
      builder.getI64IntegerAttr(isAlias   ? 0
                                : isArena ? buffer.offset
                                          : buffer.index),
      isAlias ? handles[buffer.index] : Value(), labelOf(buffer),
      parameter ? builder.getUnitAttr() : UnitAttr(), TypeAttr::get(type)));
}

SmallVector<Value>
FunctionBuilder::handlesOf(const std::vector<int64_t> &numbers) {
  return llvm::map_to_vector(numbers,
                             [&](int64_t number) { return handles[number]; });
}

void FunctionBuilder::instruction(const Instruction &instruction) {
  Location loc = parseLocation(builder.getContext(), instruction.location);
  SmallVector<Value> inputs = handlesOf(instruction.inputs);
  SmallVector<Value> outputs = handlesOf(instruction.outputs);
  auto name = builder.getStringAttr(instruction.name);
  switch (instruction.kind) {
  case Instruction::Kind::Launch:
    LaunchOp::create(builder, loc, name, inputs, outputs,
                     toMLIR(builder.getContext(), instruction.attrs));
    return;
  case Instruction::Kind::Communicate:
    CommunicateOp::create(builder, loc, name, inputs, outputs,
                          builder.getDenseI64ArrayAttr(instruction.axes));
    return;
  case Instruction::Kind::Copy:
    CopyOp::create(builder, loc, inputs, outputs);
    return;
  case Instruction::Kind::Call: {
    auto invoke = InvokeOp::create(
        builder, loc, program.functions.at(instruction.callee).name, inputs,
        outputs, instruction.offset);
    if (!instruction.modulePath.empty())
      invoke->setDiscardableAttr(kModuleAttr,
                                 builder.getStringAttr(instruction.modulePath));
    return;
  }
  }
}

void FunctionBuilder::build(bool isEntry) {
  auto func = ProgramFuncOp::create(
      builder, builder.getUnknownLoc(), function.name,
      isEntry ? StringAttr() : builder.getStringAttr("private"),
      function.arenaBytes);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&func.getBody());
  for (const ProgramBuffer &piece : function.buffers)
    buffer(piece);
  for (const Instruction &piece : function.instructions)
    instruction(piece);
}

OwningOpRef<ModuleOp> dtorch::toModule(MLIRContext &context,
                                       const Program &program) {
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(builder, builder.getUnknownLoc());
  module.get()->setAttr(kPhaseAttr, builder.getStringAttr("program"));
  builder.setInsertionPointToEnd(module->getBody());
  for (const ProgramFunction &function : program.functions)
    FunctionBuilder(builder, program, function)
        .build(&function == &program.entry());
  return module;
}
