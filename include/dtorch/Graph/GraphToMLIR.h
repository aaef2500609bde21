//===- GraphToMLIR.h - the global phase of a capture ----------------------===//
//
// The one door from Graph to MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Graph/ModuleCalls.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace dtorch {

/// Builds the module of phase "global": `main` and one private function per
/// repeated module call. Shardings stand on arguments and on results of
/// redistributes only; the passes infer the rest. Where a value with a sharding
/// is an argument of a function that gets one without at another call, an
/// `unrealized_conversion_cast` takes the sharding off the type.
mlir::OwningOpRef<mlir::ModuleOp> buildGlobalModule(mlir::MLIRContext &context,
                                                    const Capture &capture,
                                                    const Outline &outline);

} // namespace dtorch
