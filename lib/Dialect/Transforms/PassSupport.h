//===- PassSupport.h - what the passes share ------------------------------===//
#pragma once

#include "dtorch/Dialect/IR/Conversions.h"
#include "dtorch/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace dtorch {

/// Adds to passWork().
void addPassWork(int64_t ops);

/// Counts one op that a pass works on, in its statistic and process-wide.
inline void countOp(mlir::Pass::Statistic &statistic) {
  ++statistic;
  addPassWork(1);
}

/// Runs `body` for an op. An Error becomes a diagnostic at the op, since
/// exceptions must not reach the pass manager.
template <typename Body>
llvm::LogicalResult guarded(mlir::Operation *op, Body &&body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return op->emitError() << error.what();
  }
}

/// The phase of a module; "global" when it has none.
llvm::StringRef phaseOf(mlir::ModuleOp module);
void setPhase(mlir::ModuleOp module, llvm::StringRef phase);

/// Whether the op, or its module, is marked dtorch.strict.
bool isStrict(mlir::Operation *op);

/// Gives a function the types of its block arguments and returned values.
void updateFunctionType(mlir::func::FuncOp func);

/// The functions of a module, in its order. Emits an error for one without a
/// body or with a body of several blocks, and fails.
mlir::FailureOr<std::vector<mlir::func::FuncOp>>
functionsOf(mlir::ModuleOp module);

/// The function that a call calls; emits an error and returns null when there
/// is none with a body.
mlir::func::FuncOp lookupCallee(mlir::func::CallOp call,
                                mlir::SymbolTable &symbols);

/// The same, callees before callers. Emits an error for a function that calls
/// itself too.
mlir::FailureOr<std::vector<mlir::func::FuncOp>>
calleesFirst(mlir::ModuleOp module);

} // namespace dtorch
