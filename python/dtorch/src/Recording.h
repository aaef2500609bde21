//===- Recording.h - where and how the native module records --------------===//
#pragma once

#include "TensorObject.h"
#include "dtorch/Graph/Graph.h"

namespace dtorch::python {

/// The graph that this thread records into.
Graph &currentGraph();

/// The innermost line outside of the package.
Location currentLocation();

/// Records an op at the current line; moves the operands away. Throws Error.
PyObject *recordTensor(const OpForm &form, std::span<const int64_t> numbers,
                       std::span<NodeRef> operands);

/// Throws Error if this thread records for `dtorch.compile`: there are no
/// values to look at.
void checkLooking();

void bindRecording(py::module_ &module);
void bindReplay(py::module_ &module);

} // namespace dtorch::python
