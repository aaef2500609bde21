//===- ProgramVerifier.cpp - order, lifetimes, overlap of buffers ---------===//
//
// A mistake in a memory plan gives wrong numbers far from its cause, so every
// program function that is parsed or made is checked: by a sweep over its
// instructions, no two buffers that are live at one time may overlap.
//
//===----------------------------------------------------------------------===//

#include "dtorch/Dialect/IR/ProgramOps.h"

#include <set>

using namespace mlir;
using namespace dtorch;

namespace {

/// Bytes of the arena that are taken from one instruction to another.
struct Extent {
  int64_t begin, end;  ///< bytes
  int64_t first, last; ///< instructions, both included
  Operation *owner;    ///< a buffer, or an invoke for its callee's arena
};

/// Collects what the instructions of one function do to its buffers.
class Lifetimes {
public:
  explicit Lifetimes(ProgramFuncOp func) : func(func) {}
  LogicalResult collect();
  LogicalResult checkOverlap();

private:
  LogicalResult visit(Operation *instruction);
  LogicalResult read(Operation *instruction, Value handle);
  LogicalResult write(Operation *instruction, Value handle);
  LogicalResult add(Extent region);

  ProgramFuncOp func;
  int64_t now = 0;
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> spans; ///< by buffer
  std::vector<Extent> regions;
};

} // namespace

/// Input and output handles of an instruction.
static std::pair<OperandRange, OperandRange> handlesOf(Operation *op) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return {launch.getInputs(), launch.getOutputs()};
  if (auto communicate = dyn_cast<CommunicateOp>(op))
    return {communicate.getInputs(), communicate.getOutputs()};
  if (auto copy = dyn_cast<CopyOp>(op))
    return {copy.getInputs(), copy.getOutputs()};
  auto invoke = cast<InvokeOp>(op);
  return {invoke.getInputs(), invoke.getOutputs()};
}

LogicalResult Lifetimes::read(Operation *instruction, Value handle) {
  BufferOp storage = storageOf(bufferOf(handle));
  if (storage.isArgument())
    return success();
  auto it = spans.find(storage);
  if (it == spans.end())
    return instruction->emitError()
           << "program: reads a buffer that no earlier "
              "instruction writes";
  it->second.second = now;
  return success();
}

LogicalResult Lifetimes::write(Operation *instruction, Value handle) {
  BufferOp storage = storageOf(bufferOf(handle));
  if (storage.isArgument())
    return instruction->emitError()
           << "program: writes argument " << storage.getValue()
           << ", which is read only";
  auto [it, isNew] = spans.try_emplace(storage, now, now);
  it->second.second = now;
  return success();
}

LogicalResult Lifetimes::visit(Operation *instruction) {
  auto [inputs, outputs] = handlesOf(instruction);
  for (Value handle : inputs)
    if (failed(read(instruction, handle)))
      return failure();
  for (Value handle : outputs)
    if (failed(write(instruction, handle)))
      return failure();
  auto invoke = dyn_cast<InvokeOp>(instruction);
  if (!invoke)
    return success();
  auto callee = SymbolTable::lookupNearestSymbolFrom<ProgramFuncOp>(
      func, invoke.getCalleeAttr());
  // A missing callee is the invoke's own error.
  if (callee)
    regions.push_back(
        {static_cast<int64_t>(invoke.getOffset()),
         static_cast<int64_t>(invoke.getOffset() + callee.getArenaBytes()), now,
         now, invoke});
  return success();
}

LogicalResult Lifetimes::add(Extent region) {
  if (region.end > static_cast<int64_t>(func.getArenaBytes()))
    return region.owner->emitError()
           << "program: bytes " << region.begin << " to " << region.end
           << " must lie in the arena of @" << func.getSymName() << " ("
           << func.getArenaBytes() << " bytes)";
  regions.push_back(region);
  return success();
}

LogicalResult Lifetimes::collect() {
  for (Operation &op : func.getBody().front()) {
    if (isa<BufferOp>(op))
      continue;
    if (failed(visit(&op)))
      return failure();
    ++now;
  }
  for (auto buffer : func.getBody().getOps<BufferOp>()) {
    auto it = spans.find(buffer);
    if (buffer.isResult() && it == spans.end())
      return buffer.emitError()
             << "program: result " << buffer.getValue() << " is never written";
    if (!buffer.isArena() || it == spans.end())
      continue;
    int64_t begin = buffer.getValue();
    if (failed(add({begin, begin + arenaBytes(buffer.getBufferType()),
                    it->second.first, it->second.second, buffer})))
      return failure();
  }
  return success();
}

LogicalResult Lifetimes::checkOverlap() {
  std::sort(regions.begin(), regions.end(),
            [](const Extent &a, const Extent &b) { return a.first < b.first; });
  std::vector<Extent> live;
  for (const Extent &region : regions) {
    llvm::erase_if(live,
                   [&](const Extent &r) { return r.last < region.first; });
    for (const Extent &other : live) {
      if (region.begin >= other.end || other.begin >= region.end)
        continue;
      InFlightDiagnostic diagnostic =
          region.owner->emitError()
          << "program: bytes " << region.begin << " to " << region.end
          << " overlap with a buffer that is still needed";
      diagnostic.attachNote(other.owner->getLoc())
          << "bytes " << other.begin << " to " << other.end;
      return diagnostic;
    }
    live.push_back(region);
  }
  return success();
}

/// Indices of one kind of buffer are 0, 1, … without gaps.
static LogicalResult verifyIndices(ProgramFuncOp func, StringRef kind) {
  std::set<int64_t> indices;
  for (auto buffer : func.getBody().getOps<BufferOp>())
    if (buffer.getKind() == kind && !indices.insert(buffer.getValue()).second)
      return buffer.emitError() << "program: " << kind << " "
                                << buffer.getValue() << " stands twice";
  if (!indices.empty() &&
      *indices.rbegin() + 1 != static_cast<int64_t>(indices.size()))
    return func.emitError() << "program: indices of " << kind
                            << "s must be 0, 1, … without gaps";
  return success();
}

LogicalResult ProgramFuncOp::verifyRegions() {
  bool instructions = false;
  for (Operation &op : getBody().front()) {
    if (!isa<BufferOp, LaunchOp, CommunicateOp, CopyOp, InvokeOp>(op))
      return op.emitError() << "program: only buffers and instructions may "
                               "stand here, got "
                            << op.getName();
    if (isa<BufferOp>(op) && instructions)
      return op.emitError() << "program: buffers must stand before "
                               "instructions";
    instructions |= !isa<BufferOp>(op);
    // Aliases that refer to each other would have no storage. MLIR checks the
    // order of definitions after this.
    auto buffer = dyn_cast<BufferOp>(op);
    if (buffer && buffer.isAlias() &&
        !bufferOf(buffer.getSource())->isBeforeInBlock(buffer))
      return op.emitError() << "buffer: the source of an alias must stand "
                               "before it";
  }
  if (failed(verifyIndices(*this, "argument")) ||
      failed(verifyIndices(*this, "result")))
    return failure();
  Lifetimes lifetimes(*this);
  if (failed(lifetimes.collect()))
    return failure();
  return lifetimes.checkOverlap();
}
