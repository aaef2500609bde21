//===- ComputeOps.h - the compute ops -------------------------------------===//
#pragma once

#include "dtorch/Dialect/IR/Dtorch.h"

namespace dtorch {

/// Checks a compute op by the op table, in every phase: operands and attributes
/// fit its rule, and the result has the global shape and element type that
/// follow. Placements are dtorch-verify-placements' business.
llvm::LogicalResult verifyComputeOp(mlir::Operation *op);
OpCall makeOpCall(mlir::Operation *op);

} // namespace dtorch

#define GET_OP_CLASSES
#include "dtorch/Dialect/IR/ComputeOps.h.inc"
