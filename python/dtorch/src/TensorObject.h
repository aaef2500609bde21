//===- TensorObject.h - the base of dtorch.Tensor in C --------------------===//
//
// Recording an op must not cost more than an eager op of PyTorch, so the object
// and its way from operand to node are plain CPython, without a layer between.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Bindings.h"

namespace dtorch::python {

/// `_dtorch.TensorBase`: a node, and what Python keeps with it.
struct TensorObject {
  PyObject_HEAD PyObject *weakReferences;
  /// Null in subclasses that keep it elsewhere (a parameter's cell) and give it
  /// as `_node`.
  NodeRef node;
  PyObject *host; ///< `_host`; null is None
  bool requiresGrad;
};

/// Whether the object is a tensor; null if not.
TensorObject *asTensor(PyObject *object);

/// The node of a tensor. Asks Python where the object has none, so it may be
/// null with a Python error set.
NodeRef nodeOf(TensorObject *tensor);

/// A new `dtorch.Tensor`; runs no Python code.
PyObject *newTensor(NodeRef node);

/// The Python object of a DType: `dtorch.float32`. Borrowed.
PyObject *dtypeObject(DType dtype);
/// The DType of such an object; nothing for others.
std::optional<DType> dtypeOf(PyObject *object);

void bindTensor(py::module_ &module);

} // namespace dtorch::python
