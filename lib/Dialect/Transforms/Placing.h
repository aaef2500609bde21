//===- Placing.h - the row chosen for a compute op ------------------------===//
#pragma once

#include "PassSupport.h"

namespace dtorch {

/// An op with what its operands are now, and what its rule wants them to be.
struct Placing {
  OpCall call;
  BoundRule rule;
  std::vector<Sharding> held;   ///< of the operands, host ones included
  std::vector<Sharding> joined; ///< host operands replicated on the mesh
  RowChoice choice;             ///< for `joined`
};

/// Chooses rows for an op whose operands have shardings: the question that
/// inference asks and insertion asks again. Emits an error when operands are on
/// two meshes, and in strict mode when no row is reached without communication.
mlir::FailureOr<Placing> placeOp(mlir::Operation *op);

/// Emits the strict error: the operands' placements and the legal rows.
mlir::InFlightDiagnostic emitNoRow(mlir::Operation *op, const Placing &placing);

/// Checks that a compute op is on one mesh and matches its rule.
llvm::LogicalResult verifyPlaced(mlir::Operation *op);

/// "lhs [S(0), R], rhs [P]".
std::string placementsText(const OpCall &call, std::span<const Sharding> shardings);

} // namespace dtorch
