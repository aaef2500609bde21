//===- PlaceOp.h - the rows of a compute op -------------------------------===//
#pragma once

#include "PassSupport.h"

#include "dtorch/Ops/Placing.h"

namespace dtorch {

/// Chooses rows for an op whose operands have shardings: the question that
/// inference asks and insertion asks again. The choice is there. Emits an error
/// when operands are on two meshes, and in strict mode when no row is reached
/// without communication.
mlir::FailureOr<Placing> placeOp(mlir::Operation *op);

/// Checks that a compute op is on one mesh and matches its rule.
llvm::LogicalResult verifyPlaced(mlir::Operation *op);

} // namespace dtorch
