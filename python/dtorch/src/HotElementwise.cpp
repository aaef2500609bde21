//===- HotElementwise.cpp - short ways of operators and functions ---------===//

#include "HotFunction.h"
#include "dtorch/Session/Inputs.h"

#include <vector>

using namespace dtorch;
using namespace dtorch::python;

/// A form of a generic op that lives for ever.
static const OpForm *formOf(const char *op, std::string kind) {
  return new OpForm(op, {{"kind", std::move(kind)}});
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

/// Whether two operands of that type go as they are. Bools have rules of their
/// own, and quotients and powers of integers too.
static bool staysSo(const OpForm &form, DType dtype, bool onIntegers) {
  return isFloating(dtype) || (onIntegers && dtype != DType::Bool);
}

/// A Python number as the operand of a tensor, which decides the dtype; empty
/// where the number would, and for bools, which not every op takes.
static NodeRef scalarOperand(PyObject *number, DType dtype) {
  if (isFloating(dtype)) {
    if (PyFloat_CheckExact(number))
      return makeScalar(PyFloat_AS_DOUBLE(number), dtype);
    if (PyLong_CheckExact(number)) {
      std::optional<int64_t> value = toExactInt(number);
      return value ? makeScalar(static_cast<double>(*value), dtype) : nullptr;
    }
    return nullptr;
  }
  if (std::optional<int64_t> value = toExactInt(number))
    return makeScalar(*value, dtype);
  return nullptr;
}

template <bool onIntegers>
static PyObject *binary(const HotFunction &self, const CallArguments &args) {
  if (args.count != 2 || args.names)
    return nullptr;
  const OpForm &form = *self.entry->form;
  bool reversed = self.entry->reversed;
  PyObject *lhs = args.positional[reversed], *rhs = args.positional[!reversed];
  Operand left(lhs), right(rhs);
  if (PyErr_Occurred())
    return nullptr;
  if (left && right) {
    if (left.dtype() != right.dtype() ||
        !staysSo(form, left.dtype(), onIntegers))
      return nullptr;
  } else {
    Operand &tensor = left ? left : right, &number = left ? right : left;
    if (!tensor || !staysSo(form, tensor.dtype(), onIntegers))
      return nullptr;
    // Not every number may meet a pending value.
    if (form.scales && tensor.node->valueTypeOf().pending)
      return nullptr;
    number.node = scalarOperand(left ? rhs : lhs, tensor.dtype());
    if (!number)
      return nullptr;
  }
  NodeRef operands[] = {std::move(left.node), std::move(right.node)};
  return recordTensor(form, {}, operands);
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

static PyObject *unary(const HotFunction &self, const CallArguments &args) {
  if (args.count != 1 || args.names)
    return nullptr;
  Operand x(args.positional[0]);
  if (!x || !isFloating(x.dtype()))
    return nullptr;
  return recordTensor(*self.entry->form, {}, std::span(&x.node, 1));
}

/// cast(x, dtype)
static PyObject *castTo(const HotFunction &self, const CallArguments &args) {
  if (args.count != 2 || args.names)
    return nullptr;
  Operand x(args.positional[0]);
  std::optional<DType> dtype = dtypeOf(args.positional[1]);
  if (!x || !dtype)
    return nullptr;
  if (x.dtype() == *dtype)
    return Py_NewRef(args.positional[0]);
  int64_t numbers[] = {static_cast<int64_t>(*dtype)};
  return recordTensor(*self.entry->form, numbers, std::span(&x.node, 1));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addBinary(std::vector<HotEntry> &entries) {
  for (const char *kind : {"add", "sub", "mul"}) {
    const OpForm *form = formOf("binary", kind);
    entries.push_back({kind, binary<true>, form});
    entries.push_back({std::string("r") + kind, binary<true>, form, true});
  }
  for (const char *kind : {"div", "pow"}) {
    const OpForm *form = formOf("binary", kind);
    entries.push_back({kind, binary<false>, form});
    entries.push_back({std::string("r") + kind, binary<false>, form, true});
  }
  for (const char *kind : {"maximum", "minimum"})
    entries.push_back({kind, binary<false>, formOf("binary", kind)});
  for (const char *kind : {"eq", "ne", "lt", "le", "gt", "ge"})
    entries.push_back({kind, binary<true>, formOf("binary", kind)});
}

/// Every kind of the op is a short way of that name.
static void addUnary(std::vector<HotEntry> &entries) {
  for (const KindInfo &kind : lookupOp("unary")->kinds)
    entries.push_back({std::string(kind.name), unary,
                       formOf("unary", std::string(kind.name))});
}

std::span<const HotEntry> python::elementwiseEntries() {
  static const auto *entries = [] {
    auto *all = new std::vector<HotEntry>;
    addBinary(*all);
    addUnary(*all);
    all->push_back({"cast", castTo, new OpForm("cast", {}, {"dtype"})});
    return all;
  }();
  return *entries;
}
