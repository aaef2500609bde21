//===- Module.cpp - the native module _dtorch -----------------------------===//

#include "HotFunction.h"

using namespace dtorch::python;

PYBIND11_MODULE(_dtorch, module) {
  module.doc() = "Meshes, placements, graphs and programs; see _dtorch.pyi.";
  bindErrors(module);
  bindSharding(module);
  bindGraph(module);
  bindTensor(module);
  bindRecording(module);
  bindHot(module);
  bindReplay(module);
  bindTesting(module);
}
