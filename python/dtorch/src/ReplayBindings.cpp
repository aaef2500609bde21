//===- ReplayBindings.cpp - what dtorch.compile stands on -----------------===//

#include "Recording.h"
#include "dtorch/Graph/Replay.h"

#include <pybind11/stl.h>

using namespace dtorch;
using namespace dtorch::python;

/// The node of a tensor or a Node.
static NodeRef toNode(py::handle object) {
  TensorObject *tensor = asTensor(object.ptr());
  if (!tensor)
    return object.cast<const Handle &>().node;
  NodeRef node = nodeOf(tensor);
  if (!node)
    throw py::error_already_set();
  return node;
}

static std::vector<NodeRef> toNodes(const py::sequence &objects) {
  std::vector<NodeRef> nodes;
  nodes.reserve(objects.size());
  for (py::handle object : objects)
    nodes.push_back(toNode(object));
  return nodes;
}

static py::list record(const Replay &replay, const py::sequence &inputs) {
  py::list tensors;
  for (NodeRef &node : replay.record(currentGraph(), toNodes(inputs)))
    tensors.append(
        py::reinterpret_steal<py::object>(newTensor(std::move(node))));
  return tensors;
}

void python::bindReplay(py::module_ &module) {
  py::class_<Replay>(module, "Replay")
      .def(py::init([](const py::sequence &outputs, int64_t first) {
             return std::make_unique<Replay>(toNodes(outputs), first);
           }),
           py::arg("outputs"), py::arg("first"))
      .def_property_readonly("inputs",
                             [](const Replay &replay) {
                               py::list nodes;
                               for (const NodeRef &node : replay.inputs())
                                 nodes.append(Handle{node});
                               return nodes;
                             })
      .def_property_readonly("random_keys", &Replay::randomKeys)
      .def("record", &record, py::arg("inputs"));
  module.def("placeholder", [](py::handle tensor) {
    return py::reinterpret_steal<py::object>(
        newTensor(Node::placeholder(toNode(tensor)->typeRef())));
  });
  module.def("next_sequence", &Node::nextSequence);
  module.def("node_id",
             [](py::handle object) { return toNode(object)->sequence(); });
  module.def("type_id", [](py::handle object) {
    return reinterpret_cast<uintptr_t>(&toNode(object)->valueTypeOf());
  });
}
