//===- Convert.cpp - errors, memory and attributes ------------------------===//

#include "Bindings.h"

#include <algorithm>
#include <mutex>

using namespace dtorch;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Never destroyed: errors may be raised while the interpreter ends.
static PyObject *placementError = nullptr;

static PyObject *exceptionOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Value:
    return PyExc_ValueError;
  case ErrorKind::Type:
    return PyExc_TypeError;
  case ErrorKind::Index:
    return PyExc_IndexError;
  case ErrorKind::Placement:
    return placementError;
  case ErrorKind::Runtime:
    return PyExc_RuntimeError;
  case ErrorKind::Absent:
    return PyExc_NotImplementedError;
  }
  return PyExc_RuntimeError;
}

void python::bindErrors(py::module_ &module) {
  py::tuple bases = py::make_tuple(py::handle(PyExc_ValueError),
                                   py::handle(PyExc_AssertionError));
  placementError = PyErr_NewExceptionWithDoc(
      "dtorch.PlacementError",
      "A tensor does not lie where an op or a module needs it.", bases.ptr(),
      nullptr);
  if (!placementError)
    throw py::error_already_set();
  module.attr("PlacementError") = py::handle(placementError);
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer)
        std::rethrow_exception(pointer);
    } catch (const Error &error) {
      PyErr_SetString(exceptionOf(error.kind), error.what());
    }
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
struct Released {
  std::mutex mutex;
  std::vector<PyObject *> objects;
};
} // namespace

static Released &released() {
  static auto *instance = new Released; // outlives every other static
  return *instance;
}

std::shared_ptr<void> python::keepAlive(py::object object) {
  return std::shared_ptr<void>(object.release().ptr(), [](void *pointer) {
    auto *object = static_cast<PyObject *>(pointer);
    if (!Py_IsInitialized())
      return; // the interpreter took everything with it
    if (PyGILState_Check()) {
      Py_DECREF(object);
      return;
    }
    std::lock_guard<std::mutex> guard(released().mutex);
    released().objects.push_back(object);
  });
}

void python::dropReleased() {
  std::vector<PyObject *> objects;
  {
    std::lock_guard<std::mutex> guard(released().mutex);
    objects.swap(released().objects);
  }
  for (PyObject *object : objects)
    Py_DECREF(object);
}

py::array python::bytesOf(const StorageRef &storage, int64_t size) {
  py::capsule owner(new StorageRef(storage), [](void *pointer) {
    delete static_cast<StorageRef *>(pointer);
  });
  py::array_t<uint8_t> array(
      size, static_cast<const uint8_t *>(storage->data()), owner);
  py::detail::array_proxy(array.ptr())->flags &=
      ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

//===----------------------------------------------------------------------===//
// Numbers and attributes
//===----------------------------------------------------------------------===//

py::tuple python::toTuple(std::span<const int64_t> numbers) {
  py::tuple tuple(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    tuple[i] = py::int_(numbers[i]);
  return tuple;
}

static int64_t toInt(py::handle object) {
  py::object index =
      py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!index)
    throw py::error_already_set();
  int64_t number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred())
    throw py::error_already_set();
  return number;
}

Shape python::toShape(py::handle sequence) {
  Shape shape;
  for (py::handle item : sequence)
    shape.push_back(toInt(item));
  return shape;
}

const OpInfo &python::findOp(std::string_view name) {
  if (const OpInfo *op = lookupOp(name))
    return *op;
  throw Error(std::string(name) + ": there is no op of this name");
}

static AttrValue toAttr(const OpInfo &op, std::string_view name,
                        py::handle value) {
  auto info =
      std::find_if(op.attrs.begin(), op.attrs.end(),
                   [&](const AttrInfo &attr) { return attr.name == name; });
  if (info == op.attrs.end())
    throw Error(std::string(op.name) + ": there is no attribute '" +
                    std::string(name) + "'",
                ErrorKind::Type);
  switch (info->type) {
  case AttrType::Bool:
    return value.cast<bool>();
  case AttrType::Int:
    return toInt(value);
  case AttrType::Float:
    return value.cast<double>();
  case AttrType::String:
  case AttrType::DType:
    return value.cast<std::string>();
  case AttrType::Ints:
    return python::toShape(value);
  }
  throw Error("attribute: unknown type", ErrorKind::Type);
}

Attrs python::toAttrs(const OpInfo &op, const py::dict &dict) {
  Attrs attrs;
  for (auto [key, value] : dict) {
    auto name = key.cast<std::string_view>();
    attrs.set(name, toAttr(op, name, value));
  }
  return attrs;
}
