//===- HotLayers.cpp - short ways of products, reductions and layers ------===//

#include "HotFunction.h"
#include "dtorch/Session/Inputs.h"

#include <algorithm>

using namespace dtorch;
using namespace dtorch::python;

static PyObject *recordPair(const OpForm &form, Operand &a, Operand &b) {
  NodeRef operands[] = {std::move(a.node), std::move(b.node)};
  return recordTensor(form, {}, operands);
}

/// Another op on a new tensor, which it takes.
static PyObject *then(PyObject *tensor, const OpForm &form, Operand &operand) {
  if (!tensor)
    return nullptr;
  auto kept = py::reinterpret_steal<py::object>(tensor);
  Operand first(tensor);
  return recordPair(form, first, operand);
}

/// matmul(a, b)
static PyObject *matmul(const HotFunction &self, const CallArguments &args) {
  if (args.count != 2 || args.names)
    return nullptr;
  Operand a(args.positional[0]), b(args.positional[1]);
  if (!a || !b || a.dtype() != b.dtype() || a.ndim() < 2 || b.ndim() < 2)
    return nullptr;
  return recordPair(*self.entry->form, a, b);
}

/// linear(input, weight, bias=None)
static PyObject *linear(const HotFunction &self, const CallArguments &args) {
  static const auto *addForm =
      new OpForm("binary", {{"kind", std::string("add")}});
  static constexpr const char *names[] = {"input", "weight", "bias"};
  PyObject *values[3];
  if (!args.sort(names, values))
    return nullptr;
  Operand input(values[0]), weight(values[1]), bias(values[2]);
  bool hasBias = values[2] && values[2] != Py_None;
  if (!input || !weight || input.dtype() != weight.dtype() ||
      weight.ndim() != 2 || !input.ndim() ||
      input.shape().back() != weight.shape()[1])
    return nullptr;
  if (!hasBias)
    return recordPair(*self.entry->form, input, weight);
  if (!bias || bias.dtype() != input.dtype() || !isFloating(input.dtype()))
    return nullptr;
  return then(recordPair(*self.entry->form, input, weight), *addForm, bias);
}

/// softmax(input, dim)
static PyObject *softmax(const HotFunction &self, const CallArguments &args) {
  static constexpr const char *names[] = {"input", "dim"};
  PyObject *values[2];
  if (!args.sort(names, values))
    return nullptr;
  Operand x(values[0]);
  if (!x || !isFloating(x.dtype()) || !x.ndim())
    return nullptr;
  std::optional<int64_t> dim = toDim(values[1], x.ndim());
  if (!dim)
    return nullptr;
  int64_t numbers[] = {*dim};
  return recordTensor(*self.entry->form, numbers, std::span(&x.node, 1));
}

/// rms_norm(input, normalized_shape, weight=None, eps=None)
static PyObject *rmsNorm(const HotFunction &self, const CallArguments &args) {
  static const auto *mulForm =
      new OpForm("binary", {{"kind", std::string("mul")}});
  static constexpr const char *names[] = {"input", "normalized_shape", "weight",
                                          "eps"};
  PyObject *values[4];
  if (!args.sort(names, values) || !values[1] || !values[3] ||
      !PyFloat_CheckExact(values[3]))
    return nullptr;
  Operand x(values[0]), weight(values[2]);
  bool hasWeight = values[2] && values[2] != Py_None;
  PyObject *size = values[1]; // the usual: one dim
  if (PyTuple_CheckExact(size) && PyTuple_GET_SIZE(size) == 1)
    size = PyTuple_GET_ITEM(size, 0);
  if (!x || !isFloating(x.dtype()) || !x.ndim() ||
      toExactInt(size) != x.shape().back())
    return nullptr;
  if (hasWeight && (!weight || weight.dtype() != x.dtype()))
    return nullptr;
  int64_t numbers[] = {1, x.ndim() - 1};
  NodeRef operands[] = {
      std::move(x.node),
      makeScalar(PyFloat_AS_DOUBLE(values[3]), DType::Float32)};
  PyObject *normed = recordTensor(*self.entry->form, numbers, operands);
  return hasWeight ? then(normed, *mulForm, weight) : normed;
}

/// sum(x, dim, keepdim)
static PyObject *sum(const HotFunction &self, const CallArguments &args) {
  static constexpr const char *names[] = {"input", "dim", "keepdim"};
  PyObject *values[3];
  if (!args.sort(names, values))
    return nullptr;
  Operand x(values[0]);
  bool keepdim = values[2] == Py_True;
  if (!x || !isFloating(x.dtype()) || x.ndim() > 8 ||
      (values[2] && !PyBool_Check(values[2])))
    return nullptr;
  int64_t numbers[10] = {0};
  if (!values[1] || values[1] == Py_None) {
    for (int64_t d = 0; d < x.ndim(); ++d)
      numbers[++numbers[0]] = d;
  } else {
    std::optional<int64_t> dim = toDim(values[1], x.ndim());
    if (!dim)
      return nullptr;
    numbers[0] = 1;
    numbers[1] = *dim;
  }
  size_t count = static_cast<size_t>(numbers[0]) + 1;
  numbers[count] = keepdim;
  return recordTensor(*self.entry->form, std::span(numbers, count + 1),
                      std::span(&x.node, 1));
}

/// cat(tensors, dim)
static PyObject *cat(const HotFunction &self, const CallArguments &args) {
  static constexpr size_t maxParts = 8;
  static constexpr const char *names[] = {"tensors", "dim"};
  PyObject *values[2];
  if (!args.sort(names, values) || !values[0] ||
      !(PyTuple_CheckExact(values[0]) || PyList_CheckExact(values[0])))
    return nullptr;
  auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(values[0]));
  if (!count || count > maxParts)
    return nullptr;
  NodeRef parts[maxParts];
  for (size_t i = 0; i < count; ++i) {
    Operand part(PySequence_Fast_ITEMS(values[0])[i]);
    if (!part || (i && part.dtype() != parts[0]->type().dtype))
      return nullptr;
    parts[i] = std::move(part.node);
  }
  auto ndim = static_cast<int64_t>(parts[0]->type().shape.size());
  std::optional<int64_t> dim = values[1] ? toDim(values[1], ndim)
                               : ndim    ? std::optional<int64_t>(0)
                                         : std::nullopt;
  if (!dim)
    return nullptr;
  int64_t numbers[] = {*dim};
  return recordTensor(*self.entry->form, numbers, std::span(parts, count));
}

std::span<const HotEntry> python::layerEntries() {
  static const auto *entries = new std::vector<HotEntry>{
      {"matmul", matmul, new OpForm("matmul", {})},
      {"linear", linear, new OpForm("linear", {})},
      {"softmax", softmax, new OpForm("softmax", {}, {"dim"})},
      {"rms_norm", rmsNorm, new OpForm("rms_norm", {}, {"dims"})},
      {"sum", sum,
       new OpForm("reduce", {{"kind", std::string("sum")}},
                  {"dims", "keepdim"})},
      {"cat", cat, new OpForm("cat", {}, {"dim"})},
  };
  return *entries;
}
