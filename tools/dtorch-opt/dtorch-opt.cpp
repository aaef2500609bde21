//===- dtorch-opt.cpp - runs passes on IR ---------------------------------===//
//
// Only the dialects and passes that our modules need, so that it starts fast.
//
//===----------------------------------------------------------------------===//

#include "dtorch/Dialect/Transforms/Passes.h"
#include "dtorch/Target/Compile.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  dtorch::registerDtorchDialects(registry);
  dtorch::registerDtorchPasses();
  dtorch::registerDtorchPipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();

  // Our diagnostics name what they speak of; the op at hand, whose shardings
  // would be spelt out, only hides that. Whoever wants it asks for it.
  std::vector<char *> arguments(argv, argv + argc);
  llvm::StringRef option = "--mlir-print-op-on-diagnostic";
  std::string off = (option + "=false").str();
  if (llvm::none_of(arguments, [&](llvm::StringRef argument) {
        return argument.contains(option.drop_front());
      }))
    arguments.push_back(off.data());
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(static_cast<int>(arguments.size()), arguments.data(),
                        "dtorch optimizer\n", registry));
}
