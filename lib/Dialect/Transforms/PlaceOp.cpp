//===- PlaceOp.cpp - the rows of a compute op -----------------------------===//

#include "PlaceOp.h"

using namespace mlir;
using namespace dtorch;

/// The shardings that operands have; fails when one has none.
static FailureOr<std::vector<Sharding>> heldShardings(Operation *op) {
  std::vector<Sharding> held;
  for (Value operand : op->getOperands()) {
    ShardingAttr sharding = shardingAttr(operand);
    if (!sharding)
      return op->emitError()
             << op->getName().stripDialect()
             << ": operands must have shardings, got " << operand.getType()
             << "; run dtorch-infer-placements";
    held.push_back(sharding.getSharding());
  }
  return held;
}

static void emitNoRow(Operation *op, const Placing &placing) {
  InFlightDiagnostic diagnostic = op->emitError() << subjectOf(placing.call)
                                                  << ": " << noRowText(placing);
  diagnostic.attachNote() << "legal rows for one axis: "
                          << legalRowsText(placing.rule);
  diagnostic.attachNote() << "redistribute an operand, or use mode \"auto\"";
}

FailureOr<Placing> dtorch::placeOp(Operation *op) {
  FailureOr<std::vector<Sharding>> held = heldShardings(op);
  if (failed(held))
    return failure();
  Placing placing = placeCall(makeOpCall(op), std::move(*held), isStrict(op));
  if (!placing.choice) {
    emitNoRow(op, placing);
    return failure();
  }
  return placing;
}

LogicalResult dtorch::verifyPlaced(Operation *op) {
  FailureOr<std::vector<Sharding>> held = heldShardings(op);
  if (failed(held))
    return failure();
  OpCall call = makeOpCall(op);
  for (const Sharding &sharding : *held)
    if (!sameMesh(sharding.mesh, held->front().mesh))
      return op->emitError()
             << subjectOf(call) << ": operands must be on one mesh, got "
             << held->front().mesh->str() << " and " << sharding.mesh->str();
  std::vector<Sharding> results;
  for (Value result : op->getResults()) {
    ShardingAttr sharding = shardingAttr(result);
    if (!sharding || !sameMesh(sharding.getSharding().mesh, held->front().mesh))
      return op->emitError()
             << subjectOf(call)
             << ": the result must be on the mesh of the operands, got "
             << result.getType();
    results.push_back(sharding.getSharding());
  }
  BoundRule rule = bindRule(call);
  if (matches(rule, *held, results))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitError() << subjectOf(call)
                      << ": placements must match a row of the rule on every "
                         "axis, got "
                      << placementsText(call, *held) << " -> "
                      << results.front().placementsStr();
  diagnostic.attachNote() << "legal rows for one axis: " << legalRowsText(rule);
  return diagnostic;
}
