//===- HotShaping.cpp - short ways of views, permutations and indices -----===//

#include "HotFunction.h"

#include <algorithm>
#include <numeric>

using namespace dtorch;
using namespace dtorch::python;

static constexpr size_t maxDims = 8;

namespace {
/// A few numbers without memory of their own; says when they do not fit.
struct Numbers {
  int64_t data[3 * maxDims + 3];
  size_t size = 0;
  void push(int64_t number) { data[size++] = number; }
  void push(std::span<const int64_t> numbers) {
    for (int64_t number : numbers)
      push(number);
  }
  operator std::span<const int64_t>() const { return {data, size}; }
};

/// Sizes or dims given one by one or as one list or tuple of exact ints.
struct Ints {
  Ints(PyObject *const *objects, Py_ssize_t count) {
    if (count == 1 &&
        (PyTuple_CheckExact(objects[0]) || PyList_CheckExact(objects[0]))) {
      PyObject *sequence = objects[0];
      objects = PySequence_Fast_ITEMS(sequence);
      count = PySequence_Fast_GET_SIZE(sequence);
    }
    if (count > static_cast<Py_ssize_t>(maxDims))
      return;
    for (Py_ssize_t i = 0; i < count; ++i) {
      std::optional<int64_t> number = toExactInt(objects[i]);
      if (!number)
        return;
      values[size++] = *number;
    }
    valid = true;
  }
  std::span<int64_t> span() { return {values, size}; }
  int64_t values[maxDims];
  size_t size = 0;
  bool valid = false;
};
} // namespace

static const OpForm &viewForm() {
  static const auto *form = new OpForm("view", {}, {"shape"});
  return *form;
}

static bool isShape(const Shape &shape, std::span<const int64_t> sizes) {
  return std::equal(shape.begin(), shape.end(), sizes.begin(), sizes.end());
}

/// x under another shape of as many elements; the object itself if none
/// changes.
static PyObject *viewAs(PyObject *object, Operand &x,
                        std::span<const int64_t> sizes) {
  if (isShape(x.shape(), sizes))
    return Py_NewRef(object);
  Numbers numbers;
  numbers.push(static_cast<int64_t>(sizes.size()));
  numbers.push(sizes);
  return recordTensor(viewForm(), numbers, std::span(&x.node, 1));
}

/// Replaces one -1 by what is left; false where the sizes do not fit.
static bool resolveView(const Shape &shape, std::span<int64_t> sizes) {
  int64_t count = numElements(shape), known = 1;
  int64_t *unknown = nullptr;
  for (int64_t &size : sizes) {
    if (size < -1 || (size == -1 && unknown))
      return false;
    if (size == -1)
      unknown = &size;
    else
      known *= size;
  }
  if (!unknown)
    return known == count;
  if (known == 0 || count % known)
    return false;
  *unknown = count / known;
  return true;
}

/// view(x, *shape)
static PyObject *view(const HotFunction &, const CallArguments &args) {
  if (args.count < 2 || args.names)
    return nullptr;
  Operand x(args.positional[0]);
  Ints sizes(args.positional + 1, args.count - 1);
  if (!x || !sizes.valid || !resolveView(x.shape(), sizes.span()))
    return nullptr;
  return viewAs(args.positional[0], x, sizes.span());
}

/// unsqueeze(x, dim)
static PyObject *unsqueeze(const HotFunction &, const CallArguments &args) {
  if (args.count != 2 || args.names)
    return nullptr;
  Operand x(args.positional[0]);
  if (!x || x.shape().size() >= maxDims)
    return nullptr;
  std::optional<int64_t> dim = toDim(args.positional[1], x.ndim() + 1);
  if (!dim)
    return nullptr;
  Numbers sizes;
  sizes.push(std::span(x.shape()).first(*dim));
  sizes.push(1);
  sizes.push(std::span(x.shape()).subspan(*dim));
  return viewAs(args.positional[0], x, sizes);
}

/// squeeze(x, dim)
static PyObject *squeeze(const HotFunction &, const CallArguments &args) {
  if (args.count != 2 || args.names)
    return nullptr;
  Operand x(args.positional[0]);
  if (!x || x.shape().size() > maxDims)
    return nullptr;
  std::optional<int64_t> dim = toDim(args.positional[1], x.ndim());
  if (!dim)
    return nullptr;
  Numbers sizes;
  sizes.push(std::span(x.shape()).first(*dim));
  if (x.shape()[*dim] != 1)
    sizes.push(x.shape()[*dim]);
  sizes.push(std::span(x.shape()).subspan(*dim + 1));
  return viewAs(args.positional[0], x, sizes);
}

/// flatten(x, start_dim, end_dim)
static PyObject *flatten(const HotFunction &, const CallArguments &args) {
  static constexpr const char *names[] = {"input", "start_dim", "end_dim"};
  PyObject *values[3];
  if (!args.sort(names, values) || !values[0])
    return nullptr;
  Operand x(values[0]);
  if (!x || x.shape().empty() || x.shape().size() > maxDims)
    return nullptr;
  std::optional<int64_t> first = 0, last = x.ndim() - 1;
  if (values[1])
    first = toDim(values[1], x.ndim());
  if (values[2])
    last = toDim(values[2], x.ndim());
  if (!first || !last || *first > *last)
    return nullptr;
  std::span<const int64_t> shape = x.shape();
  Numbers sizes;
  sizes.push(shape.first(*first));
  sizes.push(numElements(shape.subspan(*first, *last - *first + 1)));
  sizes.push(shape.subspan(*last + 1));
  return viewAs(values[0], x, sizes);
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

static PyObject *permuteTo(PyObject *object, Operand &x,
                           std::span<const int64_t> order) {
  static const auto *form = new OpForm("permute", {}, {"dims"});
  if (std::is_sorted(order.begin(), order.end()))
    return Py_NewRef(object);
  Numbers numbers;
  numbers.push(static_cast<int64_t>(order.size()));
  numbers.push(order);
  return recordTensor(*form, numbers, std::span(&x.node, 1));
}

/// permute(x, *dims)
static PyObject *permute(const HotFunction &, const CallArguments &args) {
  if (args.count < 2 || args.names)
    return nullptr;
  Operand x(args.positional[0]);
  Ints dims(args.positional + 1, args.count - 1);
  if (!x || !dims.valid || static_cast<int64_t>(dims.size) != x.ndim())
    return nullptr;
  uint32_t seen = 0;
  for (int64_t &dim : dims.span()) {
    if (dim < -x.ndim() || dim >= x.ndim())
      return nullptr;
    dim = dim < 0 ? dim + x.ndim() : dim;
    seen |= 1u << dim;
  }
  if (seen != (1u << x.ndim()) - 1)
    return nullptr;
  return permuteTo(args.positional[0], x, dims.span());
}

/// transpose(x, dim0, dim1)
static PyObject *transpose(const HotFunction &, const CallArguments &args) {
  if (args.count != 3 || args.names)
    return nullptr;
  Operand x(args.positional[0]);
  if (!x || x.shape().size() > maxDims)
    return nullptr;
  std::optional<int64_t> a = toDim(args.positional[1], x.ndim()),
                         b = toDim(args.positional[2], x.ndim());
  if (!a || !b)
    return nullptr;
  int64_t order[maxDims];
  std::iota(order, order + x.ndim(), 0);
  std::swap(order[*a], order[*b]);
  return permuteTo(args.positional[0], x, {order, x.shape().size()});
}

//===----------------------------------------------------------------------===//
// Expanding and indexing
//===----------------------------------------------------------------------===//

/// expand(x, *sizes)
static PyObject *expand(const HotFunction &, const CallArguments &args) {
  static const auto *form = new OpForm("expand", {}, {"shape"});
  if (args.count < 2 || args.names)
    return nullptr;
  Operand x(args.positional[0]);
  Ints sizes(args.positional + 1, args.count - 1);
  if (!x || !sizes.valid || static_cast<int64_t>(sizes.size) < x.ndim())
    return nullptr;
  size_t extra = sizes.size - x.shape().size();
  Numbers numbers;
  numbers.push(static_cast<int64_t>(sizes.size));
  for (size_t d = 0; d < sizes.size; ++d) {
    int64_t size = sizes.values[d];
    if (d >= extra) {
      int64_t have = x.shape()[d - extra];
      size = size == -1 ? have : size;
      if (have != 1 && have != size)
        return nullptr;
    }
    if (size < 0)
      return nullptr;
    numbers.push(size);
  }
  if (isShape(x.shape(), std::span(numbers.data + 1, sizes.size)))
    return Py_NewRef(args.positional[0]);
  return recordTensor(*form, numbers, std::span(&x.node, 1));
}

namespace {
/// What an index takes, dim by dim; see `_indexing.py`.
struct Picked {
  explicit Picked(const Shape &shape) : shape(shape) {}
  const Shape &shape;
  int64_t starts[maxDims], stops[maxDims], steps[maxDims];
  Numbers result;   ///< the shape
  size_t dims = 0;  ///< of x that are settled
  bool full = true; ///< whether all dims are taken whole

  void takeWhole() {
    starts[dims] = 0;
    stops[dims] = shape[dims];
    steps[dims] = 1;
    result.push(shape[dims++]);
  }
  bool takeIndex(PyObject *item) {
    std::optional<int64_t> index = toDim(item, shape[dims]);
    if (!index)
      return false;
    starts[dims] = *index;
    stops[dims] = *index + 1;
    steps[dims] = 1;
    full &= shape[dims] == 1;
    ++dims;
    return true;
  }
  bool takeSlice(PyObject *item) {
    auto *slice = reinterpret_cast<PySliceObject *>(item);
    for (PyObject *bound : {slice->start, slice->stop, slice->step})
      if (bound != Py_None && !toExactInt(bound))
        return false;
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
      PyErr_Clear();
      return false;
    }
    if (step < 1)
      return false;
    Py_ssize_t length = PySlice_AdjustIndices(shape[dims], &start, &stop, step);
    starts[dims] = start;
    stops[dims] = std::max(start, stop);
    steps[dims] = step;
    full &= start == 0 && stops[dims] == shape[dims] && step == 1;
    ++dims;
    result.push(length);
    return true;
  }
};
} // namespace

/// Settles every dim; false for what Python must look at.
static bool pick(Picked &picked, PyObject *const *items, Py_ssize_t count) {
  auto isNew = [&](PyObject *item) { return item == Py_None; };
  auto ndim = static_cast<Py_ssize_t>(picked.shape.size());
  Py_ssize_t taken = count - std::count_if(items, items + count, isNew);
  Py_ssize_t dots = std::count(items, items + count, Py_Ellipsis);
  if (ndim > static_cast<Py_ssize_t>(maxDims) || dots > 1 ||
      taken - dots > ndim || count > 2 * static_cast<Py_ssize_t>(maxDims))
    return false;
  Py_ssize_t left = ndim - (taken - dots);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = items[i];
    if (item == Py_None) {
      picked.result.push(1);
    } else if (item == Py_Ellipsis) {
      for (; left; --left)
        picked.takeWhole();
    } else if (PySlice_Check(item)) {
      if (!picked.takeSlice(item))
        return false;
    } else if (!picked.takeIndex(item)) {
      return false;
    }
  }
  for (; left; --left)
    picked.takeWhole();
  return picked.result.size <= maxDims;
}

/// getitem(x, index)
static PyObject *getItem(const HotFunction &, const CallArguments &args) {
  static const auto *form =
      new OpForm("slice", {}, {"starts", "stops", "steps"});
  if (args.count != 2 || args.names)
    return nullptr;
  Operand x(args.positional[0]);
  if (!x)
    return nullptr;
  PyObject *index = args.positional[1];
  bool several = PyTuple_CheckExact(index);
  Picked picked(x.shape());
  if (!pick(picked, several ? PySequence_Fast_ITEMS(index) : &index,
            several ? PyTuple_GET_SIZE(index) : 1))
    return nullptr;
  if (picked.full)
    return viewAs(args.positional[0], x, picked.result);
  size_t dims = picked.dims;
  Numbers numbers;
  for (const int64_t *bounds : {picked.starts, picked.stops, picked.steps}) {
    numbers.push(static_cast<int64_t>(dims));
    numbers.push(std::span(bounds, dims));
  }
  PyObject *slice = recordTensor(*form, numbers, std::span(&x.node, 1));
  if (!slice)
    return nullptr;
  Operand sliced(slice);
  PyObject *result = viewAs(slice, sliced, picked.result);
  Py_DECREF(slice);
  return result;
}

std::span<const HotEntry> python::shapingEntries() {
  static const HotEntry entries[] = {
      {"view", view},           {"reshape", view},    {"unsqueeze", unsqueeze},
      {"squeeze", squeeze},     {"flatten", flatten}, {"permute", permute},
      {"transpose", transpose}, {"expand", expand},   {"getitem", getItem},
  };
  return entries;
}
