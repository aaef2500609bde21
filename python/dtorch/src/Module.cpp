//===- Module.cpp - the native module _dtorch -----------------------------===//

#include "Bindings.h"

using namespace dtorch::python;

PYBIND11_MODULE(_dtorch, module) {
  module.doc() = "Meshes, placements, graphs and programs; see _dtorch.pyi.";
  bindErrors(module);
  bindSharding(module);
  bindGraph(module);
  bindTesting(module);
}
