//===- SliceUpdate.cpp - a tensor with a slice replaced -------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"

#include <cstring>

namespace dtorch::cpu {
namespace {

/// Of one dim: the elements of the value that fall into the result's box.
struct Taken {
  int64_t begin, end; ///< in the value
  int64_t first;      ///< where the first one stands in the result
};

int64_t ceilDiv(int64_t a, int64_t b) { return a <= 0 ? 0 : (a - 1) / b + 1; }

Taken takenIn(const KernelSpec &spec, size_t d) {
  const Box &result = spec.outputs[0].box, &value = spec.inputs[1].box;
  int64_t start = spec.attrs.getInts("starts")[d];
  int64_t step = spec.attrs.getInts("steps")[d];
  int64_t count = spec.inputs[1].global[d], offset = result.offset[d];
  int64_t begin = std::min(ceilDiv(offset - start, step), count);
  int64_t end = std::min(ceilDiv(offset + result.size[d] - start, step), count);
  if (begin < end &&
      (begin < value.offset[d] || end > value.offset[d] + value.size[d]))
    throw Error("slice_update: dim " + std::to_string(d) +
                    " of value must cover that of input",
                ErrorKind::Placement);
  return {begin, end, start + begin * step - offset};
}

PreparedKernel prepareSliceUpdate(const KernelSpec &spec) {
  const TensorSpec &result = spec.outputs[0], &value = spec.inputs[1];
  if (!(spec.inputs[0].box == result.box))
    throw Error("slice_update: input must be sharded as the result",
                ErrorKind::Placement);
  int64_t item = itemSize(result.dtype);
  size_t bytes = result.box.numElements() * item;
  Shape from = rowMajorStrides(value.local());
  Shape own = rowMajorStrides(result.local()), to = own, shape;
  int64_t source = 0, target = 0;
  for (size_t d = 0; d < own.size(); ++d) {
    Taken taken = takenIn(spec, d);
    shape.push_back(std::max<int64_t>(taken.end - taken.begin, 0));
    source += (taken.begin - value.box.offset[d]) * from[d];
    target += taken.first * own[d];
    to[d] = own[d] * spec.attrs.getInts("steps")[d];
  }
  StridedCopy copy(shape, from, to, item, source, target);
  return [copy, bytes](const void *const *inputs, void *const *outputs) {
    std::memcpy(outputs[0], inputs[0], bytes);
    copy.run(inputs[1], outputs[0]);
  };
}

DTORCH_CPU_KERNEL("slice_update", prepareSliceUpdate);

} // namespace
} // namespace dtorch::cpu
