//===- ModuleToProgram.cpp - program ops become a Program -----------------===//

#include "dtorch/Dialect/IR/Conversions.h"
#include "dtorch/Dialect/IR/ProgramOps.h"
#include "dtorch/Target/ProgramTranslation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtorch;

namespace {

/// Translates the functions that an entry reaches, callees first.
class ModuleToProgram {
public:
  explicit ModuleToProgram(ModuleOp module) : symbols(module) {}
  int64_t function(ProgramFuncOp func);
  Program program;

private:
  Instruction instruction(Operation *op);
  std::vector<int64_t> numbers(ValueRange handles);

  SymbolTable symbols;
  llvm::StringMap<int64_t> done;           ///< functions by name
  llvm::DenseMap<Value, int64_t> numberOf; ///< buffers of the function at hand
};

} // namespace

static dtorch::BufferType bufferType(ProgramBufferType type) {
  return {Shape(type.getShape()), toDType(type.getElementType()),
          type.getSharding().getSharding()};
}

static ProgramBuffer::Kind bufferKind(BufferOp op) {
  if (op.isArgument())
    return ProgramBuffer::Kind::Argument;
  if (op.isResult())
    return ProgramBuffer::Kind::Result;
  return op.isArena() ? ProgramBuffer::Kind::Arena : ProgramBuffer::Kind::Alias;
}

/// Adds what a buffer says of the function's arguments and results.
static void addLabel(ProgramFunction &function, BufferOp op) {
  std::string label = op.getLabel().value_or("").str();
  size_t index = op.getValue();
  if (op.isArgument()) {
    if (function.arguments.size() <= index)
      function.arguments.resize(index + 1);
    function.arguments[index] = {label, op.getParameter()};
  } else if (op.isResult() && op.getLabel()) {
    if (function.resultNames.size() <= index)
      function.resultNames.resize(index + 1);
    function.resultNames[index] = label;
  }
}

std::vector<int64_t> ModuleToProgram::numbers(ValueRange handles) {
  std::vector<int64_t> result;
  for (Value handle : handles)
    result.push_back(numberOf.lookup(handle));
  return result;
}

Instruction ModuleToProgram::instruction(Operation *op) {
  Instruction result;
  result.location = locationStr(op->getLoc());
  auto operands = [&](auto typed) {
    result.inputs = numbers(typed.getInputs());
    result.outputs = numbers(typed.getOutputs());
  };
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    result.kind = Instruction::Kind::Launch;
    result.name = launch.getKernel().str();
    result.attrs = toAttrs(launch.getAttrs());
    operands(launch);
  } else if (auto communicate = dyn_cast<CommunicateOp>(op)) {
    result.kind = Instruction::Kind::Communicate;
    result.name = communicate.getKind().str();
    result.axes = std::vector<int64_t>(communicate.getAxes());
    operands(communicate);
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    result.kind = Instruction::Kind::Copy;
    operands(copy);
  } else {
    auto invoke = cast<InvokeOp>(op);
    result.kind = Instruction::Kind::Call;
    result.callee = done.lookup(invoke.getCallee());
    result.offset = invoke.getOffset();
    if (auto path = op->getAttrOfType<StringAttr>(kModuleAttr))
      result.modulePath = path.str();
    operands(invoke);
  }
  return result;
}

int64_t ModuleToProgram::function(ProgramFuncOp func) {
  auto [known, isNew] = done.try_emplace(func.getSymName(), -1);
  if (!isNew) {
    if (known->second < 0)
      throw Error("program: @" + func.getSymName().str() + " calls itself");
    return known->second;
  }
  for (auto invoke : func.getBody().getOps<InvokeOp>())
    function(symbols.lookup<ProgramFuncOp>(invoke.getCallee()));

  ProgramFunction result;
  result.name = func.getSymName().str();
  result.arenaBytes = func.getArenaBytes();
  numberOf.clear();
  for (Operation &op : func.getBody().front()) {
    auto buffer = dyn_cast<BufferOp>(op);
    if (!buffer) {
      result.instructions.push_back(instruction(&op));
      continue;
    }
    numberOf[buffer.getHandle()] = result.buffers.size();
    int64_t value = buffer.getValue();
    if (buffer.isAlias())
      value = numberOf.lookup(buffer.getSource());
    addLabel(result, buffer);
    result.buffers.push_back({bufferKind(buffer), buffer.isArena() ? 0 : value,
                              buffer.isArena() ? value : 0,
                              bufferType(buffer.getBufferType())});
  }
  program.functions.push_back(std::move(result));
  return done[func.getSymName()] = program.functions.size() - 1;
}

std::vector<std::string> dtorch::entryNames(ModuleOp module) {
  std::vector<std::string> names;
  for (Operation &op : module.getOps())
    if (auto func = dyn_cast<func::FuncOp>(op); func && !func.isPrivate())
      names.push_back(func.getSymName().str());
    else if (auto func = dyn_cast<ProgramFuncOp>(op); func && !func.isPrivate())
      names.push_back(func.getSymName().str());
  return names;
}

Program dtorch::toProgram(ModuleOp module, std::string_view entry) {
  std::string name(entry);
  if (name.empty()) {
    std::vector<std::string> names = entryNames(module);
    if (names.size() != 1)
      throw Error("program: must have one public function, got " +
                  std::to_string(names.size()));
    name = names.front();
  }
  auto func = module.lookupSymbol<ProgramFuncOp>(name);
  if (!func)
    throw Error("program: no program function @" + name);
  ModuleToProgram translation(module);
  translation.function(func);
  return std::move(translation.program);
}
