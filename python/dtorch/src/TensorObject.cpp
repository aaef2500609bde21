//===- TensorObject.cpp - the base of dtorch.Tensor in C ------------------===//

#include "TensorObject.h"

#include <structmember.h>

#include <array>
#include <cstddef>

using namespace dtorch;
using namespace dtorch::python;

static PyTypeObject *baseType = nullptr;
/// `dtorch.Tensor`, once Python has defined it.
static PyTypeObject *tensorClass = nullptr;
static std::array<PyObject *, 7> dtypeObjects{};

PyObject *python::dtypeObject(DType dtype) {
  return dtypeObjects[static_cast<size_t>(dtype)];
}

std::optional<DType> python::dtypeOf(PyObject *object) {
  for (size_t i = 0; i < dtypeObjects.size(); ++i)
    if (dtypeObjects[i] == object)
      return static_cast<DType>(i);
  return std::nullopt;
}

TensorObject *python::asTensor(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  return type == tensorClass || PyType_IsSubtype(type, baseType)
             ? reinterpret_cast<TensorObject *>(object)
             : nullptr;
}

NodeRef python::nodeOf(TensorObject *tensor) {
  if (tensor->node)
    return tensor->node;
  PyObject *self = reinterpret_cast<PyObject *>(tensor);
  PyObject *handle = PyObject_GetAttrString(self, "_node");
  if (!handle)
    return nullptr;
  auto owned = py::reinterpret_steal<py::object>(handle);
  if (!py::isinstance<Handle>(owned)) {
    PyErr_SetString(PyExc_RuntimeError, "tensor: it has no value");
    return nullptr;
  }
  return owned.cast<const Handle &>().node;
}

PyObject *python::newTensor(NodeRef node) {
  PyObject *self = tensorClass->tp_alloc(tensorClass, 0);
  if (!self)
    return nullptr;
  auto *tensor = reinterpret_cast<TensorObject *>(self);
  new (&tensor->node) NodeRef(std::move(node)); // the rest is zero
  return self;
}

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

static TensorObject *cast(PyObject *self) {
  return reinterpret_cast<TensorObject *>(self);
}

static PyObject *allocate(PyTypeObject *type, PyObject *, PyObject *) {
  PyObject *self = type->tp_alloc(type, 0);
  if (self)
    new (&cast(self)->node) NodeRef;
  return self;
}

static void deallocate(PyObject *self) {
  TensorObject *tensor = cast(self);
  if (tensor->weakReferences)
    PyObject_ClearWeakRefs(self);
  tensor->node.~NodeRef();
  Py_XDECREF(tensor->host);
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyObject *getNode(PyObject *self, void *) {
  if (!cast(self)->node) {
    PyErr_SetString(PyExc_AttributeError, "tensor: it has no value");
    return nullptr;
  }
  return py::cast(Handle{cast(self)->node}).release().ptr();
}

static int setNode(PyObject *self, PyObject *value, void *) {
  if (!value || !py::isinstance<Handle>(py::handle(value))) {
    PyErr_SetString(PyExc_TypeError, "_node: must be a Node");
    return -1;
  }
  cast(self)->node = py::handle(value).cast<const Handle &>().node;
  return 0;
}

static PyObject *getHost(PyObject *self, void *) {
  PyObject *host = cast(self)->host;
  return Py_NewRef(host ? host : Py_None);
}

static int setHost(PyObject *self, PyObject *value, void *) {
  Py_XINCREF(value);
  Py_XSETREF(cast(self)->host, value);
  return 0;
}

static PyObject *getRequiresGrad(PyObject *self, void *) {
  return PyBool_FromLong(cast(self)->requiresGrad);
}

static int setRequiresGrad(PyObject *self, PyObject *value, void *) {
  int truth = value ? PyObject_IsTrue(value) : 0;
  if (truth < 0)
    return -1;
  cast(self)->requiresGrad = truth;
  return 0;
}

/// The tensor's type; null with a Python error set.
static const ValueType *typeOf(PyObject *self, NodeRef &keep) {
  keep = nodeOf(cast(self));
  return keep ? &keep->valueTypeOf() : nullptr;
}

static PyObject *shapeTuple(std::span<const int64_t> shape) {
  PyObject *tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  for (size_t i = 0; tuple && i < shape.size(); ++i)
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(shape[i]));
  return tuple;
}

static PyObject *getShape(PyObject *self, void *) {
  NodeRef keep;
  const ValueType *type = typeOf(self, keep);
  return type ? shapeTuple(type->tensor.shape) : nullptr;
}

static PyObject *getDType(PyObject *self, void *) {
  NodeRef keep;
  const ValueType *type = typeOf(self, keep);
  return type ? Py_NewRef(dtypeObject(type->tensor.dtype)) : nullptr;
}

static PyObject *getIsHost(PyObject *self, void *) {
  NodeRef keep;
  const ValueType *type = typeOf(self, keep);
  return type ? PyBool_FromLong(type->written.isHost()) : nullptr;
}

/// Subclasses without a node of their own know their shape without making one.
static PyObject *shapeOf(PyObject *self) {
  return cast(self)->node ? getShape(self, nullptr)
                          : PyObject_GetAttrString(self, "shape");
}

static PyObject *getNdim(PyObject *self, void *) {
  if (const NodeRef &node = cast(self)->node)
    return PyLong_FromSize_t(node->type().shape.size());
  PyObject *shape = shapeOf(self);
  if (!shape)
    return nullptr;
  Py_ssize_t count = PyObject_Size(shape);
  Py_DECREF(shape);
  return count < 0 ? nullptr : PyLong_FromSsize_t(count);
}

static PyObject *dim(PyObject *self, PyObject *) {
  return getNdim(self, nullptr);
}

static PyObject *numel(PyObject *self, PyObject *) {
  PyObject *shape = shapeOf(self);
  if (!shape)
    return nullptr;
  int64_t count = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i)
    count *= PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
  Py_DECREF(shape);
  return PyLong_FromLongLong(count);
}

static PyGetSetDef getters[] = {
    {"_node", getNode, setNode, "The node of the value.", nullptr},
    {"_host", getHost, setHost, nullptr, nullptr},
    {"_requires_grad", getRequiresGrad, setRequiresGrad, nullptr, nullptr},
    {"shape", getShape, nullptr, "Global sizes.", nullptr},
    {"dtype", getDType, nullptr, "The element type.", nullptr},
    {"ndim", getNdim, nullptr, "The number of dims.", nullptr},
    {"is_host", getIsHost, nullptr,
     "Whether it is a host tensor, which joins any mesh as replicated.",
     nullptr},
    {}};

static PyMethodDef methods[] = {
    {"dim", dim, METH_NOARGS, "The number of dims."},
    {"numel", numel, METH_NOARGS, "The number of elements."},
    {}};

static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET,
                                 offsetof(TensorObject, weakReferences),
                                 READONLY, nullptr},
                                {}};

static PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void *>(allocate)},
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_getset, getters},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char *>("A value: the node that stands for it.")},
    {0, nullptr}};

static PyType_Spec spec = {"dtorch._dtorch.TensorBase", sizeof(TensorObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

void python::bindTensor(py::module_ &module) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw py::error_already_set();
  baseType = reinterpret_cast<PyTypeObject *>(type);
  module.attr("TensorBase") = py::handle(type);
  module.def("set_tensor_class", [](const py::type &cls) {
    auto *given = reinterpret_cast<PyTypeObject *>(cls.ptr());
    if (!PyType_IsSubtype(given, baseType))
      throw Error("set_tensor_class: must derive from TensorBase",
                  ErrorKind::Type);
    tensorClass = reinterpret_cast<PyTypeObject *>(cls.inc_ref().ptr());
  });
  module.def("set_dtypes", [](const py::dict &byName) {
    for (size_t i = 0; i < dtypeObjects.size(); ++i) {
      std::string name(toString(static_cast<DType>(i)));
      dtypeObjects[i] = py::object(byName[name.c_str()]).release().ptr();
    }
  });
  module.def("wrap", [](const Handle &handle) {
    return py::reinterpret_steal<py::object>(newTensor(handle.node));
  });
}
