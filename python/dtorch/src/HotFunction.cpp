//===- HotFunction.cpp - a Python function with a short way through C -----===//

#include "HotFunction.h"

#include <structmember.h>

#include <cstddef>

using namespace dtorch;
using namespace dtorch::python;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

bool CallArguments::sort(std::span<const char *const> parameters,
                         std::span<PyObject *> values) const {
  auto size = static_cast<Py_ssize_t>(parameters.size());
  if (count > size)
    return false;
  for (Py_ssize_t i = 0; i < size; ++i)
    values[i] = i < count ? positional[i] : nullptr;
  for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k) {
    Py_ssize_t i = count;
    while (i < size && PyUnicode_CompareWithASCIIString(
                           PyTuple_GET_ITEM(names, k), parameters[i]) != 0)
      ++i;
    if (i == size || values[i])
      return false;
    values[i] = positional[count + k];
  }
  return true;
}

std::optional<int64_t> python::toExactInt(PyObject *object) {
  if (!PyLong_CheckExact(object))
    return std::nullopt;
  int overflow = 0;
  int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow ? std::nullopt : std::optional(number);
}

std::optional<int64_t> python::toDim(PyObject *object, int64_t span) {
  std::optional<int64_t> dim = object ? toExactInt(object) : std::nullopt;
  if (!dim || *dim < -span || *dim >= span)
    return std::nullopt;
  return *dim < 0 ? *dim + span : *dim;
}

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

static HotFunction *cast(PyObject *self) {
  return reinterpret_cast<HotFunction *>(self);
}

static PyObject *call(PyObject *self, PyObject *const *arguments, size_t flags,
                      PyObject *names) {
  HotFunction *hot = cast(self);
  try {
    PyObject *result =
        hot->entry->way(*hot, {arguments, PyVectorcall_NARGS(flags), names});
    hot->shortCalls += result != nullptr;
    if (result || PyErr_Occurred())
      return result;
  } catch (const Error &) {
    // The Python function finds it again and words it.
  } catch (py::error_already_set &error) {
    error.restore();
    return nullptr;
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
  return PyObject_Vectorcall(hot->function, arguments, flags, names);
}

static PyObject *bind(PyObject *self, PyObject *object, PyObject *) {
  return object && object != Py_None ? PyMethod_New(self, object)
                                     : Py_NewRef(self);
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(cast(self)->function);
  Py_VISIT(cast(self)->dict);
  return 0;
}

static int clear(PyObject *self) {
  Py_CLEAR(cast(self)->function);
  Py_CLEAR(cast(self)->dict);
  return 0;
}

static void deallocate(PyObject *self) {
  PyObject_GC_UnTrack(self);
  if (cast(self)->weakReferences)
    PyObject_ClearWeakRefs(self);
  clear(self);
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyObject *represent(PyObject *self) {
  return PyObject_Repr(cast(self)->function);
}

/// Copies and pickles as a function does: by its name.
static PyObject *reduce(PyObject *self, PyObject *) {
  return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                                {}};

static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(HotFunction, dict), READONLY,
     nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(HotFunction, weakReferences),
     READONLY, nullptr},
    {"short_calls", T_PYSSIZET, offsetof(HotFunction, shortCalls), READONLY,
     "Calls that went the short way."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(HotFunction, vectorcall),
     READONLY, nullptr},
    {}};

static PyObject *getWay(PyObject *self, void *) {
  return PyUnicode_FromString(cast(self)->entry->name.c_str());
}

static PyGetSetDef getters[] = {
    {"way", getWay, nullptr, "The name of the short way.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr,
     nullptr},
    {}};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void *>(bind)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {Py_tp_repr, reinterpret_cast<void *>(represent)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {0, nullptr}};

static PyType_Spec spec = {"dtorch._dtorch.HotFunction", sizeof(HotFunction), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                               Py_TPFLAGS_HAVE_VECTORCALL |
                               Py_TPFLAGS_METHOD_DESCRIPTOR,
                           slots};

static const HotEntry *findEntry(std::string_view name) {
  for (auto entries : {elementwiseEntries(), shapingEntries(), layerEntries()})
    for (const HotEntry &entry : entries)
      if (entry.name == name)
        return &entry;
  return nullptr;
}

void python::bindHot(py::module_ &module) {
  static PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw py::error_already_set();
  module.def("has_short_way",
             [](std::string_view name) { return findEntry(name) != nullptr; });
  module.def(
      "hot_function",
      [](std::string_view name, const py::object &function) {
        const HotEntry *entry = findEntry(name);
        if (!entry)
          throw Error("hot: there is no short way named " + std::string(name));
        auto *cls = reinterpret_cast<PyTypeObject *>(type);
        PyObject *self = cls->tp_alloc(cls, 0);
        if (!self)
          throw py::error_already_set();
        cast(self)->vectorcall = call;
        cast(self)->entry = entry;
        cast(self)->function = py::object(function).release().ptr();
        return py::reinterpret_steal<py::object>(self);
      },
      py::arg("name"), py::arg("function"));
}
