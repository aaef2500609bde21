//===- Pipelines.cpp - the passes in their order --------------------------===//

#include "dtorch/Dialect/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace dtorch;

void dtorch::buildGlobalToPlaced(OpPassManager &manager) {
  // Forward from arguments and explicit redistributes: where results lie.
  manager.addPass(createInferPlacements());
  // Asks the same question again, so it must follow at once: what operands
  // have to become for that.
  manager.addPass(createInsertRedistributes());
  // Closes the phase: from here on every op matches its rule.
  manager.addPass(createVerifyPlacements());
}

void dtorch::buildPlacedToLocal(OpPassManager &manager) {
  // Plans are made on global types, which say both shardings of a change.
  manager.addPass(createLowerRedistributes());
  // Needs every change to be a step, whose local meaning is one collective.
  manager.addPass(createConvertGlobalToLocal());
  // Closes the phase.
  manager.addPass(createVerifyLocal());
}

void dtorch::buildLocalToProgram(OpPassManager &manager) {
  // Lifetimes are read off the order of ops, so nothing may move after this.
  manager.addPass(createPlanBuffers());
  // Writes the plan out as buffers and instructions, whose verifier proves that
  // no two live buffers overlap.
  manager.addPass(createConvertToProgram());
}

void dtorch::registerDtorchPipelines() {
  static PassPipelineRegistration<> placed(
      "dtorch-to-placed", "From the global to the placed phase",
      buildGlobalToPlaced);
  static PassPipelineRegistration<> local("dtorch-to-local",
                                          "From the global to the local phase",
                                          [](OpPassManager &manager) {
                                            buildGlobalToPlaced(manager);
                                            buildPlacedToLocal(manager);
                                          });
  static PassPipelineRegistration<> program(
      "dtorch-to-program", "From the global to the program phase",
      [](OpPassManager &manager) {
        buildGlobalToPlaced(manager);
        buildPlacedToLocal(manager);
        buildLocalToProgram(manager);
      });
}
