//===- TestingBindings.cpp - rules and kernels, for the oracle ------------===//

#include "Bindings.h"
#include "dtorch/Runtime/KernelRegistry.h"

#include <pybind11/stl.h>

using namespace dtorch;
using namespace dtorch::python;

using Placements = std::vector<Placement>;

/// A call from (shape, dtype) pairs.
static OpCall toCall(std::string_view name, const py::sequence &operands,
                     const py::dict &attrs) {
  const OpInfo &op = findOp(name);
  OpCall call{&op, {}, toAttrs(op, attrs)};
  for (py::handle operand : operands) {
    auto pair = operand.cast<py::sequence>();
    call.operands.push_back(
        {toShape(pair[0]), parseDType(pair[1].cast<std::string_view>())});
  }
  return call;
}

static py::dict describeOp(const OpInfo &op) {
  py::dict rules, attrs;
  py::list kinds, operands;
  for (const KindInfo &kind : op.kinds) {
    kinds.append(std::string(kind.name));
    rules[py::str(std::string(kind.name))] = kind.rule.text;
  }
  for (std::string_view operand : op.operandNames)
    operands.append(std::string(operand));
  static constexpr const char *typeNames[] = {"bool",   "int",  "float",
                                              "string", "ints", "dtype"};
  for (const AttrInfo &attr : op.attrs)
    attrs[py::str(std::string(attr.name))] =
        typeNames[static_cast<size_t>(attr.type)];
  py::dict entry;
  entry["name"] = std::string(op.name);
  entry["summary"] = std::string(op.summary);
  entry["kinds"] = kinds;
  entry["operands"] = operands;
  entry["attrs"] = attrs;
  if (!op.kinds.empty())
    entry["rules"] = rules;
  else if (op.ruleFunction)
    entry["rule"] = py::none(); // depends on shapes or attributes
  else
    entry["rule"] = op.rule.text;
  return entry;
}

static py::list ruleRows(std::string_view op, const py::sequence &operands,
                         const py::dict &attrs) {
  py::list rows;
  for (const Row &row : bindRule(toCall(op, operands, attrs)).rows())
    rows.append(py::make_tuple(row.operands, row.results));
  return rows;
}

static bool ruleMatches(std::string_view op, const py::sequence &operands,
                        const py::dict &attrs,
                        const std::shared_ptr<DeviceMesh> &mesh,
                        const std::vector<Placements> &operandPlacements,
                        const Placements &resultPlacements) {
  BoundRule rule = bindRule(toCall(op, operands, attrs));
  std::vector<Sharding> operandShardings;
  if (operandPlacements.size() != rule.operandShapes.size())
    throw Error("rule_matches: needs placements of " +
                std::to_string(rule.operandShapes.size()) + " operands, got " +
                std::to_string(operandPlacements.size()));
  for (size_t i = 0; i < operandPlacements.size(); ++i)
    operandShardings.push_back(
        normalised({mesh, operandPlacements[i]}, rule.operandShapes[i]));
  Sharding result =
      normalised({mesh, resultPlacements}, rule.resultShapes.front());
  return matches(rule, operandShardings, std::vector<Sharding>{result});
}

/// From (dtype, global shape, box offsets, box sizes).
static TensorSpec toSpec(py::handle object) {
  auto parts = object.cast<py::sequence>();
  return {parseDType(parts[0].cast<std::string_view>()),
          toShape(parts[1]),
          {toShape(parts[2]), toShape(parts[3])}};
}

static int64_t bytesOfSpec(const TensorSpec &spec) {
  return spec.box.numElements() * itemSize(spec.dtype);
}

static py::array runKernel(std::string_view name, const py::dict &attrs,
                           const std::vector<py::array> &inputs,
                           const py::sequence &inputSpecs,
                           const py::object &outputSpec) {
  KernelSpec spec;
  spec.attrs = toAttrs(findOp(name), attrs);
  std::vector<const void *> inputData;
  for (size_t i = 0; i < inputs.size(); ++i) {
    spec.inputs.push_back(toSpec(inputSpecs[i]));
    if (inputs[i].nbytes() != bytesOfSpec(spec.inputs.back()) ||
        !(inputs[i].flags() & py::array::c_style))
      throw Error("run_kernel: input " + std::to_string(i) + " must hold " +
                  std::to_string(bytesOfSpec(spec.inputs.back())) +
                  " contiguous bytes");
    inputData.push_back(inputs[i].data());
  }
  spec.outputs.push_back(toSpec(outputSpec));
  py::array_t<uint8_t> output(bytesOfSpec(spec.outputs.back()));
  void *outputData[] = {output.mutable_data()};
  py::gil_scoped_release release;
  lookupKernel(name)(spec)(inputData.data(), outputData);
  return std::move(output);
}

void python::bindTesting(py::module_ &module) {
  module.def("op_table", [] {
    py::list table;
    for (const OpInfo &op : allOps())
      table.append(describeOp(op));
    return table;
  });
  module.def("rule_rows", &ruleRows, py::arg("op"), py::arg("operands"),
             py::arg("attrs"));
  module.def("rule_matches", &ruleMatches, py::arg("op"), py::arg("operands"),
             py::arg("attrs"), py::arg("mesh"), py::arg("operand_placements"),
             py::arg("result_placements"));
  module.def(
      "infer_type",
      [](std::string_view op, const py::sequence &operands,
         const py::dict &attrs) {
        TensorType type = inferTypes(toCall(op, operands, attrs)).front();
        return py::make_tuple(toTuple(type.shape),
                              std::string(toString(type.dtype)));
      },
      py::arg("op"), py::arg("operands"), py::arg("attrs"));
  module.def("run_kernel", &runKernel, py::arg("op"), py::arg("attrs"),
             py::arg("inputs"), py::arg("input_specs"), py::arg("output_spec"));
}
