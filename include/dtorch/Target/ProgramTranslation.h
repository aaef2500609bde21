//===- ProgramTranslation.h - program ops <-> the runtime's Program -------===//
//
// One to one, in both directions: an op is an instruction, a handle a buffer
// number.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Dialect/IR/Dtorch.h"
#include "dtorch/Runtime/Program.h"

#include "mlir/IR/OwningOpRef.h"

namespace dtorch {

/// The program whose entry is the function of that name, or, when it is empty,
/// the module's only public one. Callees stand before their callers, and what
/// the entry does not reach is left out. Throws Error.
Program toProgram(mlir::ModuleOp module, std::string_view entry = "");

/// The inverse. The entry becomes public, all others private.
mlir::OwningOpRef<mlir::ModuleOp> toModule(mlir::MLIRContext &context,
                                           const Program &program);

/// Names of the module's public functions, of any phase, in their order.
std::vector<std::string> entryNames(mlir::ModuleOp module);

} // namespace dtorch
