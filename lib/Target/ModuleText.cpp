//===- ModuleText.cpp - modules as text -----------------------------------===//

#include "dtorch/Target/Compile.h"

#include "Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace dtorch;

void dtorch::registerDtorchDialects(DialectRegistry &registry) {
  registry.insert<DtorchDialect, func::FuncDialect>();
}

std::string dtorch::printModule(ModuleOp module) {
  OpPrintingFlags flags;
  flags.enableDebugInfo(true, /*prettyForm=*/false);
  AsmState state(module, flags);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, state);
  os << "\n";
  return text;
}

OwningOpRef<ModuleOp> dtorch::parseModule(MLIRContext &context,
                                          std::string_view text,
                                          std::string_view name) {
  DiagnosticCollector diagnostics(&context);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context), name);
  if (!module)
    diagnostics.raise(ErrorKind::Value);
  return module;
}
