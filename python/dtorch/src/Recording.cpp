//===- Recording.cpp - where and how the native module records ------------===//

#include "Recording.h"

using namespace dtorch;
using namespace dtorch::python;

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

static Graph *processGraph = nullptr; ///< lives for ever
/// Of the innermost `with Graph():` of the thread, which keeps it alive.
static constinit thread_local Graph *threadGraph = nullptr;

/// Whether that graph is recorded to be replayed.
static constinit thread_local bool threadReplays = false;

Graph &python::currentGraph() {
  return threadGraph ? *threadGraph : *processGraph;
}

void python::checkLooking() {
  if (threadReplays)
    withLocation(currentLocation(), [] {
      throw Error("compile: no value can be looked at while a function is "
                  "recorded\n  note: return the tensor and look at it outside",
                  ErrorKind::Runtime);
    });
}

//===----------------------------------------------------------------------===//
// The line
//===----------------------------------------------------------------------===//

namespace {
/// What is known of one instruction of Python. The code object is kept, so its
/// address stays its own.
struct Place {
  PyCodeObject *code = nullptr;
  int instruction = -1;
  bool internal = false;
  Location location;
};
} // namespace

static constexpr size_t numPlaces = 4096;
/// Protected by the GIL.
static Place places[numPlaces];
/// `errors._is_internal`: whether a file's frames are skipped.
static PyObject *isInternal = nullptr;

static void fill(Place &place, PyCodeObject *code, int instruction) {
  PyObject *answer = PyObject_CallOneArg(isInternal, code->co_filename);
  if (!answer)
    throw py::error_already_set();
  place.internal = answer == Py_True;
  Py_DECREF(answer);
  place.location =
      Location::get(py::handle(code->co_filename).cast<std::string>(),
                    PyCode_Addr2Line(code, instruction));
  place.instruction = instruction;
  Py_INCREF(code);
  PyCodeObject *before = std::exchange(place.code, code);
  Py_XDECREF(before);
}

static const Place &placeOf(PyFrameObject *frame) {
  PyCodeObject *code = PyFrame_GetCode(frame);
  int instruction = PyFrame_GetLasti(frame);
  auto hash = (reinterpret_cast<uintptr_t>(code) >> 5) * 31 +
              static_cast<uintptr_t>(instruction);
  Place &place = places[(hash ^ hash >> 12) % numPlaces];
  if (place.code != code || place.instruction != instruction)
    fill(place, code, instruction);
  Py_DECREF(code);
  return place;
}

Location python::currentLocation() {
  PyFrameObject *frame = PyEval_GetFrame(); // borrowed
  if (!frame)
    return {};
  const Place &place = placeOf(frame);
  if (!place.internal)
    return place.location;
  auto outer = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject *>(PyFrame_GetBack(frame)));
  while (outer) {
    frame = reinterpret_cast<PyFrameObject *>(outer.ptr());
    const Place &next = placeOf(frame);
    if (!next.internal)
      return next.location;
    outer = py::reinterpret_steal<py::object>(
        reinterpret_cast<PyObject *>(PyFrame_GetBack(frame)));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

PyObject *python::recordTensor(const OpForm &form,
                               std::span<const int64_t> numbers,
                               std::span<NodeRef> operands) {
  return newTensor(
      currentGraph().record(form, numbers, operands, currentLocation()));
}

static NodeRef operandNode(py::handle operand) {
  if (TensorObject *tensor = asTensor(operand.ptr())) {
    NodeRef node = nodeOf(tensor);
    if (!node)
      throw py::error_already_set();
    return node;
  }
  return operand.cast<const Handle &>().node;
}

/// record(op, operands, **attrs)
static py::object record(std::string_view op, const py::sequence &operands,
                         const py::kwargs &attrs) {
  std::vector<NodeRef> nodes;
  nodes.reserve(operands.size());
  for (py::handle operand : operands)
    nodes.push_back(operandNode(operand));
  Location place = currentLocation();
  Attrs values =
      withLocation(place, [&] { return toAttrs(findOp(op), attrs); });
  return py::reinterpret_steal<py::object>(newTensor(
      currentGraph().record(op, std::move(nodes), std::move(values), place)));
}

void python::bindRecording(py::module_ &module) {
  module.def("record", &record);
  module.def("set_process_graph", [](std::shared_ptr<Graph> graph) {
    static auto *kept = new std::shared_ptr<Graph>;
    *kept = std::move(graph);
    processGraph = kept->get();
  });
  module.def(
      "set_thread_graph",
      [](Graph *graph, bool replays) {
        threadGraph = graph;
        threadReplays = replays;
      },
      py::arg("graph").none(true), py::arg("replays") = false);
  module.def("check_looking", &checkLooking);
  module.def("set_is_internal", [](const py::function &function) {
    isInternal = py::object(function).release().ptr();
  });
  module.def("location", []() -> py::tuple {
    Location location = currentLocation();
    if (!location.file)
      return py::make_tuple("<unknown>", 0);
    return py::make_tuple(*location.file, location.line);
  });
}
