//===- Compile.cpp - from a module of any phase to a program --------------===//

#include "dtorch/Target/Compile.h"

#include "dtorch/Dialect/Transforms/Passes.h"
#include "dtorch/Target/ProgramTranslation.h"

#include "Diagnostics.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <fstream>

using namespace mlir;
using namespace dtorch;

namespace {
/// A phase: the file of its dump, and the passes that lead to the next one.
struct Phase {
  StringRef name, file;
  void (*build)(OpPassManager &);
};
} // namespace

static constexpr Phase phases[] = {
    {"global", "1-global.mlir", buildGlobalToPlaced},
    {"placed", "2-placed.mlir", buildPlacedToLocal},
    {"local", "4-local.mlir", buildLocalToProgram},
    {"program", "6-program.mlir", nullptr},
};

static size_t phaseIndex(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(kPhaseAttr);
  if (!name)
    return 0;
  for (auto [index, phase] : llvm::enumerate(phases))
    if (phase.name == name.getValue())
      return index;
  throw Error("module: unknown dtorch.phase \"" + name.str() + "\"");
}

static void writeFile(const std::string &folder, StringRef file,
                      const std::string &text) {
  std::string path = folder + "/" + file.str();
  std::ofstream out(path, std::ios::binary);
  if (!(out << text) || !out.flush())
    throw Error("dump: cannot write " + path, ErrorKind::Runtime);
}

/// Writes the phase's dump and parses it again, as the options want.
static void closePhase(OwningOpRef<ModuleOp> &module, const Phase &phase,
                       const CompileOptions &options) {
  if (options.dumpDir.empty() && !options.roundtrip)
    return;
  std::string text = printModule(*module);
  if (!options.dumpDir.empty())
    writeFile(options.dumpDir, phase.file, text);
  if (options.roundtrip)
    module = parseModule(*module->getContext(), text, phase.file.str());
}

static void runPasses(ModuleOp module, const Phase &phase,
                      std::vector<std::string> *remarks) {
  DiagnosticCollector diagnostics(module.getContext());
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  phase.build(manager);
  bool failed = mlir::failed(manager.run(module));
  if (remarks)
    llvm::append_range(*remarks, diagnostics.remarks());
  if (failed)
    diagnostics.raise(phase.name == "global" ? ErrorKind::Placement
                                             : ErrorKind::Value);
}

void dtorch::lowerToProgramPhase(OwningOpRef<ModuleOp> &module,
                                 const CompileOptions &options,
                                 std::vector<std::string> *remarks) {
  if (options.strict)
    module.get()->setAttr(kStrictAttr, UnitAttr::get(module->getContext()));
  for (size_t i = phaseIndex(*module);; ++i) {
    closePhase(module, phases[i], options);
    if (!phases[i].build)
      return;
    runPasses(*module, phases[i], remarks);
  }
}

Program dtorch::compileToProgram(ModuleOp module, const CompileOptions &options,
                                 std::vector<std::string> *remarks) {
  OwningOpRef<ModuleOp> owned(module);
  lowerToProgramPhase(owned, options, remarks);
  return toProgram(*owned);
}
