//===- CollectiveOps.cpp - redistribute and its steps ---------------------===//

#include "dtorch/Dialect/IR/CollectiveOps.h"

#include "dtorch/Dialect/IR/Conversions.h"

using namespace mlir;
using namespace dtorch;

#define GET_OP_CLASSES
#include "dtorch/Dialect/IR/CollectiveOps.cpp.inc"

void DtorchDialect::registerCollectiveOps() {
  addOperations<
#define GET_OP_LIST
#include "dtorch/Dialect/IR/CollectiveOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Redistribute
//===----------------------------------------------------------------------===//

/// Same global shape and element type.
static LogicalResult verifySameValue(Operation *op) {
  try {
    dtorch::TensorType from = globalType(op->getOperand(0).getType());
    dtorch::TensorType to = globalType(op->getResult(0).getType());
    if (!(from == to))
      return op->emitError()
             << op->getName().stripDialect() << ": result must be "
             << from.str() << " as the operand, got " << to.str();
  } catch (const Error &error) {
    return op->emitError() << op->getName().stripDialect() << ": "
                           << error.what();
  }
  return success();
}

LogicalResult RedistributeOp::verify() {
  if (failed(verifySameValue(*this)))
    return failure();
  if (!shardingAttr(getResult()))
    return emitError() << "redistribute: result must have a sharding, got "
                       << getResult().getType();
  if (isLocalType(getInput().getType()) || isLocalType(getResult().getType()))
    return emitError() << "redistribute: types must be global, since local "
                          "ones are changed by step ops";
  return success();
}

OpFoldResult RedistributeOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? getInput()
                                                       : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

std::optional<StepKind> dtorch::parseStepKind(StringRef name) {
  for (StepKind kind : {StepKind::Slice, StepKind::Mask, StepKind::AllGather,
                        StepKind::AllReduce, StepKind::ReduceScatter,
                        StepKind::AllToAll, StepKind::Exchange})
    if (name == StringRef(toString(kind)))
      return kind;
  return std::nullopt;
}

static std::string fromHostProblem(const Sharding &from, const Sharding &to) {
  if (!from.isHost())
    return "the operand must be on the host, got " + from.mesh->str();
  if (to.isHost())
    return "the result must be on a mesh with devices, got the host";
  return "";
}

static std::string toHostProblem(const Sharding &from, const Sharding &to) {
  if (from.isHost())
    return "the operand must be on a mesh with devices, got the host";
  if (!to.isHost())
    return "the result must be on the host, got " + to.mesh->str();
  if (from.hasPartial())
    return "no axis may be pending, got " + from.placementsStr() +
           "; reduce it first";
  return "";
}

/// Whether two placements of an axis differ in more than the unit. A unit may
/// come or go on an axis that a step leaves alone: [S(0), R] -> [S(0:3),
/// S(0:3)] of 6 elements is a slice on axis 1. stepProblem compares the cuts.
static bool differ(const Placement &a, const Placement &b) {
  return a.kind != b.kind || a.dim != b.dim || a.reduce != b.reduce;
}

/// Whether the step's types belong together at all; stepProblem checks the
/// rest.
static std::string axesProblem(ArrayRef<int64_t> axes, const Sharding &from,
                               const Sharding &to) {
  if (!sameMesh(from.mesh, to.mesh))
    return "operand and result must be on one mesh, got " + from.mesh->str() +
           " and " + to.mesh->str();
  int64_t previous = -1;
  for (int64_t axis : axes) {
    if (axis <= previous || axis >= from.mesh->ndim())
      return "axes must be ascending indices of the mesh's " +
             std::to_string(from.mesh->ndim()) + " axes, got " +
             toString(std::vector<int64_t>(axes));
    previous = axis;
  }
  for (int64_t axis = 0; axis < from.mesh->ndim(); ++axis)
    if (differ(from.placements[axis], to.placements[axis]) &&
        !llvm::is_contained(axes, axis))
      return "placements must differ on axes " +
             toString(std::vector<int64_t>(axes)) + " only, got " +
             from.placementsStr() + " and " + to.placementsStr();
  return "";
}

std::string dtorch::communicationProblem(StringRef kind, ArrayRef<int64_t> axes,
                                         const Sharding &from,
                                         const Sharding &to,
                                         std::span<const int64_t> shape) {
  if (kind == "from_host")
    return fromHostProblem(from, to);
  if (kind == "to_host")
    return toHostProblem(from, to);
  std::optional<StepKind> step = parseStepKind(kind);
  if (!step)
    return "no such kind of communication";
  std::string problem = axesProblem(axes, from, to);
  if (!problem.empty())
    return problem;
  return stepProblem({*step, std::vector<int64_t>(axes), from, to}, shape);
}

/// Checks the types of a step, from_host or to_host op.
static LogicalResult verifyCommunication(Operation *op, StringRef kind,
                                         ArrayRef<int64_t> axes) {
  if (failed(verifySameValue(op)))
    return failure();
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  StringRef name = op->getName().stripDialect();
  if (!shardingAttr(from) || !shardingAttr(to))
    return op->emitError() << name
                           << ": operand and result must have a sharding";
  if (isLocalType(from) != isLocalType(to))
    return op->emitError() << name
                           << ": operand and result must both be local or both "
                              "be global";
  try {
    std::string problem = communicationProblem(
        kind, axes, shardingAttr(from).getSharding(),
        shardingAttr(to).getSharding(), globalType(from).shape);
    if (!problem.empty())
      return op->emitError() << name << ": " << problem;
  } catch (const Error &error) {
    return op->emitError() << name << ": " << error.what();
  }
  return success();
}

LogicalResult dtorch::verifyStepOp(Operation *op) {
  auto step = cast<StepOpInterface>(op);
  return verifyCommunication(op, toString(step.getStepKind()), step.getAxes());
}

LogicalResult FromHostOp::verify() {
  return verifyCommunication(*this, "from_host", {});
}

LogicalResult ToHostOp::verify() {
  return verifyCommunication(*this, "to_host", {});
}
