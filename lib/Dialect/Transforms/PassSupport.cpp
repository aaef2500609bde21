//===- PassSupport.cpp - what the passes share ----------------------------===//

#include "PassSupport.h"

#include "dtorch/Dialect/Transforms/Passes.h"

#include <atomic>

using namespace mlir;
using namespace dtorch;

static std::atomic<int64_t> work{0};

int64_t dtorch::passWork() { return work; }

void dtorch::addPassWork(int64_t ops) { work += ops; }

StringRef dtorch::phaseOf(ModuleOp module) {
  auto phase = module->getAttrOfType<StringAttr>(kPhaseAttr);
  return phase ? phase.getValue() : "global";
}

void dtorch::setPhase(ModuleOp module, StringRef phase) {
  module->setAttr(kPhaseAttr, StringAttr::get(module.getContext(), phase));
}

bool dtorch::isStrict(Operation *op) {
  return op->hasAttr(kStrictAttr) ||
         op->getParentOfType<ModuleOp>()->hasAttr(kStrictAttr);
}

void dtorch::updateFunctionType(func::FuncOp func) {
  Block &body = func.getBody().front();
  func.setFunctionType(
      FunctionType::get(func.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}
