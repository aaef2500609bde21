//===- Placing.cpp - the row chosen for a compute op ----------------------===//

#include "Placing.h"

using namespace mlir;
using namespace dtorch;

/// The name of an operand; a variadic op names its operands once.
static std::string operandName(const OpCall &call, size_t index) {
  const auto &names = call.op->operandNames;
  if (names.empty())
    return "operand " + std::to_string(index);
  return std::string(names[std::min(index, names.size() - 1)]);
}

std::string dtorch::placementsText(const OpCall &call,
                                   std::span<const Sharding> shardings) {
  std::string text;
  for (size_t i = 0; i < shardings.size(); ++i)
    text += (i ? ", " : "") + operandName(call, i) + " " +
            (shardings[i].isHost() ? "on the host"
                                   : shardings[i].placementsStr());
  return text;
}

/// "S(0), R -> S(0)".
static std::string rowText(const Row &row) {
  std::string text;
  for (size_t i = 0; i < row.operands.size(); ++i)
    text += (i ? ", " : "") + row.operands[i].str();
  text += " ->";
  for (const Placement &result : row.results)
    text += " " + result.str();
  return text;
}

InFlightDiagnostic dtorch::emitNoRow(Operation *op, const Placing &placing) {
  InFlightDiagnostic diagnostic =
      op->emitError() << subjectOf(op)
                      << ": placements must match a row of the rule on every "
                         "axis in strict mode, got "
                      << placementsText(placing.call, placing.held);
  Diagnostic &note = diagnostic.attachNote() << "legal rows for one axis:";
  for (const Row &row : placing.rule.rows())
    note << " (" << rowText(row) << ")";
  diagnostic.attachNote() << "redistribute an operand, or use mode \"auto\"";
  return diagnostic;
}

/// The shardings that operands have; fails when one has none.
static LogicalResult collectHeld(Operation *op, Placing &placing) {
  for (Value operand : op->getOperands()) {
    ShardingAttr sharding = shardingAttr(operand);
    if (!sharding)
      return op->emitError() << subjectOf(op)
                             << ": operands must have shardings, got "
                             << operand.getType();
    placing.held.push_back(sharding.getSharding());
  }
  return success();
}

/// Host operands join the mesh of the others as replicated.
static LogicalResult joinMesh(Operation *op, Placing &placing) {
  MeshRef mesh = DeviceMesh::host();
  for (const Sharding &held : placing.held) {
    if (held.isHost())
      continue;
    if (!mesh->isHost() && !sameMesh(mesh, held.mesh))
      return op->emitError()
             << subjectOf(op) << ": operands must be on one mesh, got "
             << mesh->str() << " and " << held.mesh->str()
             << "; redistribute one of them";
    mesh = held.mesh;
  }
  for (const Sharding &held : placing.held)
    placing.joined.push_back(held.isHost() && !mesh->isHost()
                                 ? Sharding::replicated(mesh)
                                 : held);
  return success();
}

FailureOr<Placing> dtorch::placeOp(Operation *op) {
  Placing placing;
  if (failed(collectHeld(op, placing)) || failed(joinMesh(op, placing)))
    return failure();
  placing.call = makeOpCall(op);
  placing.rule = bindRule(placing.call);
  std::vector<int64_t> itemSizes;
  for (const TensorType &type : placing.call.operands)
    itemSizes.push_back(itemSize(type.dtype));
  std::optional<RowChoice> choice =
      chooseRows(placing.rule, placing.joined, itemSizes, isStrict(op));
  if (!choice) {
    emitNoRow(op, placing);
    return failure();
  }
  placing.choice = std::move(*choice);
  return placing;
}

LogicalResult dtorch::verifyPlaced(Operation *op) {
  Placing placing;
  if (failed(collectHeld(op, placing)))
    return failure();
  for (const Sharding &held : placing.held)
    if (!sameMesh(held.mesh, placing.held.front().mesh))
      return op->emitError()
             << subjectOf(op) << ": operands must be on one mesh, got "
             << placing.held.front().mesh->str() << " and "
             << held.mesh->str();
  std::vector<Sharding> results;
  for (Value result : op->getResults())
    results.push_back(shardingAttr(result).getSharding());
  placing.call = makeOpCall(op);
  placing.rule = bindRule(placing.call);
  if (matches(placing.rule, placing.held, results))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitError() << subjectOf(op)
                      << ": placements must match a row of the rule on every "
                         "axis, got "
                      << placementsText(placing.call, placing.held) << " -> "
                      << results.front().placementsStr();
  Diagnostic &note = diagnostic.attachNote() << "legal rows for one axis:";
  for (const Row &row : placing.rule.rows())
    note << " (" << rowText(row) << ")";
  return diagnostic;
}
