//===- ShardingBindings.cpp - meshes, placements, law and plans -----------===//

#include "Bindings.h"
#include "dtorch/Sharding/RedistributePlan.h"

#include <pybind11/stl.h>

using namespace dtorch;
using namespace dtorch::python;

// Shared meshes are immutable; pybind holds them without const.
using PyMesh = std::shared_ptr<DeviceMesh>;
using Placements = std::vector<Placement>;

static PyMesh mutableMesh(const MeshRef &mesh) {
  return std::const_pointer_cast<DeviceMesh>(mesh);
}

static void bindMesh(py::module_ &module) {
  py::class_<DeviceMesh, PyMesh>(module, "Mesh")
      .def_static("host", [] { return mutableMesh(DeviceMesh::host()); })
      .def_static(
          "regular",
          [](std::string type, std::vector<std::string> names, Shape shape) {
            return mutableMesh(DeviceMesh::regular(
                std::move(type), std::move(names), std::move(shape)));
          },
          py::arg("device_type"), py::arg("dim_names"), py::arg("shape"))
      .def_static(
          "from_ids",
          [](std::string type, std::vector<std::string> names, Shape shape,
             std::vector<int64_t> ids) {
            return mutableMesh(
                DeviceMesh::fromIds(std::move(type), std::move(names),
                                    std::move(shape), std::move(ids)));
          },
          py::arg("device_type"), py::arg("dim_names"), py::arg("shape"),
          py::arg("ids"))
      .def_property_readonly("device_type", &DeviceMesh::deviceType)
      .def_property_readonly("dim_names", &DeviceMesh::dimNames)
      .def_property_readonly(
          "shape", [](const DeviceMesh &mesh) { return toTuple(mesh.shape()); })
      .def_property_readonly("ndim", &DeviceMesh::ndim)
      .def_property_readonly("is_host", &DeviceMesh::isHost)
      .def_property_readonly("num_devices", &DeviceMesh::numDevices)
      .def_property_readonly("required_world_size",
                             &DeviceMesh::requiredWorldSize)
      .def_property_readonly("ids",
                             [](const DeviceMesh &mesh) {
                               std::vector<int64_t> ids;
                               int64_t count =
                                   mesh.isHost() ? 0 : mesh.numDevices();
                               for (int64_t i = 0; i < count; ++i)
                                 ids.push_back(mesh.deviceAt(i));
                               return ids;
                             })
      .def("dim_name_index", &DeviceMesh::dimNameIndex, py::arg("name"))
      .def(
          "unbind",
          [](const DeviceMesh &mesh, int64_t axis) {
            if (axis < 0 || axis >= mesh.ndim())
              throw Error("unbind: axis must be in [0, " +
                              std::to_string(mesh.ndim()) + "), got " +
                              std::to_string(axis),
                          ErrorKind::Index);
            std::vector<PyMesh> meshes;
            for (const MeshRef &part : mesh.unbind(axis))
              meshes.push_back(mutableMesh(part));
            return meshes;
          },
          py::arg("axis"))
      .def("__eq__",
           [](const DeviceMesh &mesh, py::object other) {
             return py::isinstance<DeviceMesh>(other) &&
                    mesh == other.cast<const DeviceMesh &>();
           })
      .def("__hash__",
           [](const DeviceMesh &mesh) {
             return std::hash<std::string>()(mesh.str());
           })
      .def("__repr__", &DeviceMesh::str);
}

static const char *kindLetter(const Placement &placement) {
  return placement.isShard() ? "S" : placement.isPartial() ? "P" : "R";
}

static ReduceKind parseReduce(std::string_view name) {
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
    if (toString(kind) == name)
      return kind;
  throw Error("partial: reduce must be sum, max or min, got '" +
              std::string(name) + "'");
}

static void bindPlacement(py::module_ &module) {
  py::class_<Placement>(module, "Placement")
      .def_static("replicate", &Placement::replicate)
      .def_static("shard", &Placement::shard, py::arg("dim"),
                  py::arg("unit") = 1)
      .def_static(
          "partial",
          [](std::string_view reduce) {
            return Placement::partial(parseReduce(reduce));
          },
          py::arg("reduce") = "sum")
      .def_property_readonly("kind", &kindLetter)
      .def_readonly("dim", &Placement::dim)
      .def_readonly("unit", &Placement::unit)
      .def_property_readonly("reduce",
                             [](const Placement &placement) {
                               return std::string(toString(placement.reduce));
                             })
      .def("__eq__",
           [](const Placement &placement, py::object other) {
             return py::isinstance<Placement>(other) &&
                    placement == other.cast<const Placement &>();
           })
      .def("__hash__",
           [](const Placement &placement) {
             return py::hash(py::make_tuple(static_cast<int>(placement.kind),
                                            static_cast<int>(placement.reduce),
                                            placement.dim, placement.unit));
           })
      .def("__str__", &Placement::str)
      .def("__repr__", &Placement::str);
}

//===----------------------------------------------------------------------===//
// Law and plans
//===----------------------------------------------------------------------===//

static py::tuple localBoxOf(py::object shapeObject, const PyMesh &mesh,
                            Placements placements, int64_t index) {
  Shape shape = toShape(shapeObject);
  Sharding sharding{mesh, std::move(placements)};
  sharding.verify(shape);
  if (index < 0 || index >= mesh->numDevices())
    throw Error("local_box: index must be in [0, " +
                    std::to_string(mesh->numDevices()) + "), got " +
                    std::to_string(index),
                ErrorKind::Index);
  Box box = localBox(shape, sharding, mesh->coordinates(index));
  return py::make_tuple(toTuple(box.offset), toTuple(box.size));
}

static py::list planOf(py::object shapeObject, std::string_view dtype,
                       const PyMesh &mesh, Placements source,
                       Placements target) {
  Shape shape = toShape(shapeObject);
  Sharding from{mesh, std::move(source)}, to{mesh, std::move(target)};
  from.verify(shape);
  to.verify(shape);
  int64_t item = itemSize(parseDType(dtype));
  const RedistributePlan &plan = planRedistribute(
      normalised(from, shape), normalised(to, shape), shape, item);
  py::list steps;
  for (const RedistributeStep &step : plan.steps) {
    int64_t bytes = 0;
    for (int64_t device = 0; device < mesh->numDevices(); ++device)
      bytes = std::max(bytes, bytesReceived(step, shape, item, device));
    py::dict entry;
    entry["kind"] = std::string(toString(step.kind));
    entry["axes"] = step.axes;
    entry["source"] = step.from.placements;
    entry["target"] = step.to.placements;
    entry["bytes"] = bytes;
    steps.append(std::move(entry));
  }
  return steps;
}

void python::bindSharding(py::module_ &module) {
  bindMesh(module);
  bindPlacement(module);
  module.def("local_box", &localBoxOf, py::arg("shape"), py::arg("mesh"),
             py::arg("placements"), py::arg("index"));
  module.def(
      "same_layout",
      [](py::object shape, const PyMesh &mesh, Placements a, Placements b) {
        Shape sizes = toShape(shape);
        Sharding first{mesh, std::move(a)}, second{mesh, std::move(b)};
        first.verify(sizes);
        second.verify(sizes);
        return sameLayout(first, second, sizes);
      },
      py::arg("shape"), py::arg("mesh"), py::arg("a"), py::arg("b"));
  module.def("redistribute_plan", &planOf, py::arg("shape"), py::arg("dtype"),
             py::arg("mesh"), py::arg("source"), py::arg("target"));
}
