//===- GraphBindings.cpp - nodes, graphs, values and runs -----------------===//

#include "Recording.h"
#include "dtorch/Runtime/Executor.h"
#include "dtorch/Session/Inputs.h"
#include "dtorch/Session/Session.h"

#include <pybind11/stl.h>

using namespace dtorch;
using namespace dtorch::python;

using PyMesh = std::shared_ptr<DeviceMesh>;
using Placements = std::vector<Placement>;

static Location toLocation(const py::object &location) {
  if (location.is_none())
    return {};
  auto pair = location.cast<py::tuple>();
  return Location::get(pair[0].cast<std::string_view>(),
                       pair[1].cast<int64_t>());
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static void bindNode(py::module_ &module) {
  py::class_<Handle>(module, "Node")
      .def_property_readonly(
          "shape",
          [](const Handle &self) { return toTuple(self.node->type().shape); })
      .def_property_readonly("dtype",
                             [](const Handle &self) {
                               return std::string(
                                   toString(self.node->type().dtype));
                             })
      .def_property_readonly("mesh",
                             [](const Handle &self) {
                               return std::const_pointer_cast<DeviceMesh>(
                                   self.node->sharding().mesh);
                             })
      .def_property_readonly(
          "placements",
          [](const Handle &self) { return self.node->sharding().placements; })
      .def_property_readonly(
          "computed", [](const Handle &self) { return self.node->computed(); })
      .def_property(
          "name", [](const Handle &self) { return self.node->info().name; },
          [](const Handle &self, std::string name) {
            self.node->editInfo().name = std::move(name);
          })
      .def_property(
          "parameter", [](const Handle &self) { return self.node->parameter; },
          [](const Handle &self, bool parameter) {
            if (!self.node->isInput())
              throw Error("parameter: only an input can be one");
            self.node->parameter = parameter;
          })
      .def_property_readonly("integer",
                             [](const Handle &self) -> std::optional<int64_t> {
                               if (!self.node->isScalar() ||
                                   self.node->type().dtype != DType::Int64)
                                 return std::nullopt;
                               return *static_cast<const int64_t *>(
                                   self.node->scalarData());
                             })
      .def_property_readonly("version", [](const Handle &self) {
        return self.node->info().version;
      });
}

static Handle inputFrom(py::array array, const py::object &shape,
                        std::string_view dtype, const PyMesh &mesh,
                        Placements placements) {
  dropReleased();
  TensorType type{toShape(shape), parseDType(dtype)};
  int64_t bytes = numElements(type.shape) * itemSize(type.dtype);
  constexpr int needed =
      int(py::array::c_style) | int(py::detail::npy_api::NPY_ARRAY_ALIGNED_);
  if ((array.flags() & needed) != needed)
    array = py::array::ensure(array, needed);
  if (array.nbytes() != bytes)
    throw Error("input: " + type.str() + " has " + std::to_string(bytes) +
                " bytes, got an array of " + std::to_string(array.nbytes()));
  void *data = const_cast<void *>(array.data());
  StorageRef storage = Storage::borrow(data, static_cast<size_t>(bytes),
                                       keepAlive(std::move(array)));
  py::gil_scoped_release release;
  return {makeInput(storage, std::move(type), {mesh, std::move(placements)})};
}

static Handle scalarFrom(const py::object &value, std::string_view dtype) {
  DType type = parseDType(dtype);
  if (py::isinstance<py::bool_>(value))
    return {makeScalar(value.cast<bool>(), type)};
  if (PyLong_Check(value.ptr()) && !isFloating(type)) {
    int64_t number = PyLong_AsLongLong(value.ptr());
    if (number == -1 && PyErr_Occurred())
      throw py::error_already_set();
    return {makeScalar(number, type)};
  }
  return {makeScalar(value.cast<double>(), type)};
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static Mode parseMode(std::string_view mode) {
  if (mode == "auto")
    return Mode::Auto;
  if (mode == "strict")
    return Mode::Strict;
  throw Error("mode: must be \"auto\" or \"strict\", got \"" +
              std::string(mode) + "\"");
}

static Handle recordOp(Graph &graph, std::string_view op,
                       const py::sequence &inputs, const py::dict &attrs,
                       const py::object &location) {
  std::vector<NodeRef> nodes;
  nodes.reserve(inputs.size());
  for (py::handle input : inputs)
    nodes.push_back(input.cast<const Handle &>().node);
  Location place = toLocation(location);
  Attrs values =
      withLocation(place, [&] { return toAttrs(findOp(op), attrs); });
  return {graph.record(op, std::move(nodes), std::move(values), place)};
}

static py::object redistribute(Graph &graph, const py::object &node,
                               const PyMesh &mesh, Placements placements,
                               const py::object &location) {
  const NodeRef &source = node.cast<const Handle &>().node;
  Location place = toLocation(location);
  withLocation(place, [&] { checkWorld(*mesh); });
  NodeRef result =
      graph.redistribute(source, {mesh, std::move(placements)}, place);
  return result == source ? node : py::cast(Handle{std::move(result)});
}

static void bindGraphClass(py::module_ &module) {
  py::class_<Graph, std::shared_ptr<Graph>>(module, "Graph")
      .def(py::init([](std::string_view mode) {
             return std::make_shared<Graph>(parseMode(mode));
           }),
           py::arg("mode") = "auto")
      .def_property(
          "mode",
          [](const Graph &graph) {
            return graph.mode() == Mode::Strict ? "strict" : "auto";
          },
          [](Graph &graph, std::string_view mode) {
            graph.setMode(parseMode(mode));
          })
      .def("record", &recordOp, py::arg("op"), py::arg("inputs"),
           py::arg("attrs"), py::arg("location") = py::none())
      .def("redistribute", &redistribute, py::arg("node"), py::arg("mesh"),
           py::arg("placements"), py::arg("location") = py::none())
      .def("push_scope", &Graph::pushScope, py::arg("path"))
      .def("pop_scope", &Graph::popScope)
      .def("num_live_nodes", &Graph::numLiveNodes)
      .def("live_nodes",
           [](const Graph &graph) {
             py::list nodes;
             for (NodeRef &node : graph.liveNodes())
               nodes.append(Handle{std::move(node)});
             return nodes;
           })
      .def("sync", [](Graph &graph) {
        checkLooking();
        {
          py::gil_scoped_release release;
          Session::local().sync(graph);
        }
        dropReleased();
      });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static DistTensorRef valueOf(const Handle &handle) {
  checkLooking();
  DistTensorRef value = handle.node->value();
  if (!value)
    throw Error("value: the node is not computed; flush it first",
                ErrorKind::Runtime);
  return value;
}

static int64_t localBytes(const DistTensor &value, int64_t index) {
  return value.type.boxOf(index).numElements() * itemSize(value.type.dtype);
}

static py::array hostArray(const Handle &handle) {
  DistTensorRef value = valueOf(handle);
  if (!value->type.sharding.isHost())
    throw Error("host_array: the value is not on the host; redistribute it",
                ErrorKind::Placement);
  return bytesOf(value->locals.front(), localBytes(*value, 0));
}

static py::array assembled(const Handle &handle) {
  DistTensorRef value = valueOf(handle);
  py::array_t<uint8_t> bytes(numElements(value->type.shape) *
                             itemSize(value->type.dtype));
  void *data = bytes.mutable_data();
  py::gil_scoped_release release;
  assemble(*value, data);
  return std::move(bytes);
}

static py::array localArray(const Handle &handle, int64_t index) {
  DistTensorRef value = valueOf(handle);
  auto count = static_cast<int64_t>(value->locals.size());
  if (index < 0 || index >= count)
    throw Error("local_array: index must be in [0, " + std::to_string(count) +
                    "), got " + std::to_string(index),
                ErrorKind::Index);
  return bytesOf(value->locals[index], localBytes(*value, index));
}

static void flushNodes(const py::sequence &nodes) {
  checkLooking();
  std::vector<NodeRef> wanted;
  for (py::handle node : nodes)
    wanted.push_back(node.cast<const Handle &>().node);
  {
    py::gil_scoped_release release;
    Session::local().flush(wanted);
  }
  dropReleased();
}

static void bindValues(py::module_ &module) {
  module.def("input", &inputFrom, py::arg("array"), py::arg("shape"),
             py::arg("dtype"), py::arg("mesh"), py::arg("placements"));
  module.def("scalar", &scalarFrom, py::arg("value"), py::arg("dtype"));
  module.def(
      "assign",
      [](Handle &node, const Handle &source) {
        node.node = assigned(*node.node, *source.node);
      },
      py::arg("node"), py::arg("source"));
  module.def("flush", &flushNodes, py::arg("nodes"));
  module.def("host_array", &hostArray, py::arg("node"));
  module.def("assemble", &assembled, py::arg("node"));
  module.def("local_array", &localArray, py::arg("node"), py::arg("index"));
}

static void bindCounters(py::module_ &module) {
  module.def("num_devices", [] { return Executor::local().numDevices(); });
  module.def("last_run", [] {
    RunTimes times = Executor::local().lastRun();
    return py::make_tuple(times.began, times.ended);
  });
  module.def("counters", [] {
    py::dict result;
    for (const auto &[kind, counter] : communicationCounters())
      result[py::str(kind)] = py::make_tuple(counter.count, counter.bytes);
    return result;
  });
  module.def("reset_counters", &resetCommunicationCounters);
  module.def("compile_counters", [] {
    CompileCounters counters = Session::local().counters();
    py::dict result;
    result["programs"] = counters.programs;
    result["cache_hits"] = counters.cacheHits;
    result["ops"] = counters.ops;
    return result;
  });
}

void python::bindGraph(py::module_ &module) {
  bindNode(module);
  bindGraphClass(module);
  bindValues(module);
  bindCounters(module);
}
