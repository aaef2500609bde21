//===- Compile.h - from a module of any phase to a program ----------------===//
#pragma once

#include "dtorch/Dialect/IR/Dtorch.h"
#include "dtorch/Runtime/Program.h"

#include "mlir/IR/OwningOpRef.h"

namespace dtorch {

/// How to compile.
struct CompileOptions {
  /// Existing folder for 1-global.mlir, 2-placed.mlir, 4-local.mlir and
  /// 6-program.mlir, each with its debug locations; empty: none are written.
  std::string dumpDir;
  /// Print and parse the module again at every phase before going on, so that
  /// what is printed is what runs.
  bool roundtrip = false;
  /// Placements that match no row are an error everywhere, as if the module had
  /// dtorch.strict.
  bool strict = false;
};

/// Registers what our modules are made of: dtorch, func, builtin.
void registerDtorchDialects(mlir::DialectRegistry &registry);

/// The text of a module with debug locations: what dumps hold, and what
/// `dtorch-opt --mlir-print-debuginfo` prints.
std::string printModule(mlir::ModuleOp module);

/// Parses and verifies; throws Error with the diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(mlir::MLIRContext &context,
                                              std::string_view text,
                                              std::string_view name = "module");

/// Takes a module from the phase it is in (dtorch.phase; global when absent) to
/// the program phase. `module` is replaced when it is parsed again. Remarks
/// ("model.py:17: remark: …") of inserted redistributes are appended to
/// `remarks`. Throws Error with all diagnostics.
void lowerToProgramPhase(mlir::OwningOpRef<mlir::ModuleOp> &module,
                         const CompileOptions &options,
                         std::vector<std::string> *remarks = nullptr);

/// The same, then the program of the module's public function. The module is
/// consumed.
Program compileToProgram(mlir::ModuleOp module, const CompileOptions &options,
                         std::vector<std::string> *remarks = nullptr);

} // namespace dtorch
