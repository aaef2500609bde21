//===- HotFunction.h - a Python function with a short way through C -------===//
//
// `@hot("linear")` leaves a Python function as it is and puts a short way in
// front of it: C code that records the usual calls, and says nothing to the
// others. These, and all errors, go to the Python function, which alone defines
// what the call means; a test compares the two.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Recording.h"

namespace dtorch::python {

struct HotFunction;

/// Arguments as CPython's vectorcall passes them.
struct CallArguments {
  PyObject *const *positional;
  Py_ssize_t count;
  PyObject *names; ///< of keyword arguments, which follow; null if none

  /// Sorts arguments by parameter names; absent ones are null. False for a call
  /// that does not fit.
  bool sort(std::span<const char *const> parameters,
            std::span<PyObject *> values) const;
};

/// Gives the result, or null: with a Python error set to raise it, without one
/// to leave the call to Python. May throw Error, which leaves it to Python too.
using ShortWay = PyObject *(*)(const HotFunction &self,
                               const CallArguments &arguments);

/// A short way by name, and what it needs to know.
struct HotEntry {
  std::string name;
  ShortWay way;
  const OpForm *form = nullptr;
  bool reversed = false; ///< of a binary operator: the operands change places
};

/// The tables of the families.
std::span<const HotEntry> elementwiseEntries();
std::span<const HotEntry> shapingEntries();
std::span<const HotEntry> layerEntries();

struct HotFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  const HotEntry *entry;
  PyObject *function; ///< the Python function
  PyObject *dict;     ///< `__name__`, `__doc__`, …
  PyObject *weakReferences;
  Py_ssize_t shortCalls; ///< `short_calls`: those that Python never saw
};

/// An operand as the short ways use it; empty without a Python error if it is
/// not a tensor.
struct Operand {
  explicit Operand(PyObject *object) {
    if (TensorObject *tensor = object ? asTensor(object) : nullptr)
      node = nodeOf(tensor);
  }
  explicit operator bool() const { return static_cast<bool>(node); }
  const Shape &shape() const { return node->type().shape; }
  int64_t ndim() const { return static_cast<int64_t>(shape().size()); }
  DType dtype() const { return node->type().dtype; }
  NodeRef node;
};

/// An exact Python int that fits; nothing for all else.
std::optional<int64_t> toExactInt(PyObject *object);
/// A dim counted from the front.
std::optional<int64_t> toDim(PyObject *object, int64_t span);

void bindHot(py::module_ &module);

} // namespace dtorch::python
