//===- Passes.h - the passes, and pipelines of them -----------------------===//
#pragma once

#include "dtorch/Dialect/IR/Dtorch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace dtorch {

#define GEN_PASS_DECL
#include "dtorch/Dialect/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "dtorch/Dialect/Transforms/Passes.h.inc"

/// global -> placed, placed -> local, local -> program.
void buildGlobalToPlaced(mlir::OpPassManager &manager);
void buildPlacedToLocal(mlir::OpPassManager &manager);
void buildLocalToProgram(mlir::OpPassManager &manager);

/// Named pipelines for dtorch-opt, each from the global phase:
/// dtorch-to-placed, dtorch-to-local, dtorch-to-program.
void registerDtorchPipelines();

/// Ops that passes have worked on since the process began. Each pass looks at a
/// function's ops once per signature, and never at those of a callee for the
/// sake of a call, so the work does not grow with the number of calls. Call ops
/// themselves are look-ups and are not counted.
int64_t passWork();

} // namespace dtorch
