//===- dtorch-opt.cpp - runs passes on IR ---------------------------------===//
//
// Only the dialects and passes that our modules need, so that it starts fast.
//
//===----------------------------------------------------------------------===//

#include "dtorch/Dialect/Transforms/Passes.h"
#include "dtorch/Target/Compile.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  dtorch::registerDtorchDialects(registry);
  dtorch::registerDtorchPasses();
  dtorch::registerDtorchPipelines();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "dtorch optimizer\n", registry));
}
