//===- Bindings.h - what the files of the native module share -------------===//
#pragma once

#include "dtorch/Graph/Node.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace py = pybind11;

namespace dtorch::python {

/// Python's handle of a node. `assign` gives it another node, so that what was
/// recorded before keeps the old value.
struct Handle {
  NodeRef node;
};

/// Keeps a Python object alive from C++. Whichever thread drops the last
/// reference need not hold the GIL: the object then waits for `dropReleased`.
std::shared_ptr<void> keepAlive(py::object object);
/// Lets go of the objects that threads without the GIL released.
void dropReleased();

/// The bytes of a storage as a read-only array that keeps it alive.
py::array bytesOf(const StorageRef &storage, int64_t size);

py::tuple toTuple(std::span<const int64_t> numbers);
/// A sequence of integers; anything with `__index__` is one.
Shape toShape(py::handle sequence);
/// Attributes from a dict, converted to the types that the op declares.
Attrs toAttrs(const OpInfo &op, const py::dict &dict);
const OpInfo &findOp(std::string_view name);

void bindErrors(py::module_ &module);
void bindSharding(py::module_ &module);
void bindGraph(py::module_ &module);
void bindTesting(py::module_ &module);

} // namespace dtorch::python
