//===- Kernel.h - what kernel files share ---------------------------------===//
#pragma once

#include "dtorch/Runtime/CPU/Types.h"
#include "dtorch/Runtime/KernelRegistry.h"
#include "dtorch/Runtime/StridedCopy.h"

#include <algorithm>
#include <memory>

namespace dtorch::cpu {

/// A kernel that has nothing to do (an empty result).
inline PreparedKernel doNothing() {
  return [](const void *const *, void *const *) {};
}

/// Typed pointers.
template <typename T> const T *in(const void *const *inputs, size_t i) {
  return static_cast<const T *>(inputs[i]);
}
template <typename T> T *out(void *const *outputs, size_t i = 0) {
  return static_cast<T *>(outputs[i]);
}

/// Throws Error (Type) if an operand that a kernel reads as one type has
/// another.
inline void requireDType(const char *operand, const TensorSpec &spec,
                         DType dtype) {
  if (spec.dtype != dtype)
    throw Error(std::string(operand) + " must be " +
                    std::string(toString(dtype)) + ", got " +
                    std::string(toString(spec.dtype)),
                ErrorKind::Type);
}

/// Scratch memory of the calling thread, one block per `slot`; grows and is
/// kept, so that running a kernel allocates nothing. Kernels use different
/// slots for blocks that live at the same time.
void *scratchBytes(size_t bytes, int slot);
template <typename T> T *scratch(int64_t count, int slot) {
  return static_cast<T *>(scratchBytes(count * sizeof(T), slot));
}

/// Strides of an operand seen through the result's dims (right-aligned): 0
/// where the operand is one element wide globally.
Shape broadcastStrides(const TensorSpec &operand, size_t rank);

/// Calls `body(offset)` for every index of `sizes`, row-major; offset is the
/// sum of index times stride. Not at all if a size is 0, once if there are no
/// dims.
template <typename Body>
void forEachOffset(const Shape &sizes, const Shape &strides, Body body) {
  if (numElements(sizes) == 0)
    return;
  Shape index(sizes.size(), 0);
  int64_t offset = 0;
  while (true) {
    body(offset);
    size_t d = sizes.size();
    for (; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < sizes[d])
        break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

/// Product of sizes in [from, to).
inline int64_t product(const Shape &shape, size_t from, size_t to) {
  int64_t result = 1;
  for (size_t d = from; d < to; ++d)
    result *= shape[d];
  return result;
}

} // namespace dtorch::cpu
