//===- Movement.cpp - view, permute, expand, slice, cat -------------------===//
//
// Each is one strided copy per operand. Local parts are dense, and a dim that
// an op takes apart is whole, so local numbers are global ones there.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"

#include <cstring>

namespace dtorch::cpu {
namespace {

PreparedKernel run(StridedCopy copy) {
  return [copy = std::move(copy)](const void *const *inputs,
                                  void *const *outputs) {
    copy.run(inputs[0], outputs[0]);
  };
}

PreparedKernel prepareView(const KernelSpec &spec) {
  int64_t count = spec.inputs[0].box.numElements();
  if (count != spec.outputs[0].box.numElements())
    throw Error("view: the local part has " + std::to_string(count) +
                " elements, its result " +
                std::to_string(spec.outputs[0].box.numElements()));
  size_t bytes = count * itemSize(spec.inputs[0].dtype);
  return [bytes](const void *const *inputs, void *const *outputs) {
    std::memcpy(outputs[0], inputs[0], bytes);
  };
}

PreparedKernel preparePermute(const KernelSpec &spec) {
  const Shape &shape = spec.outputs[0].local();
  const Shape &dims = spec.attrs.getInts("dims");
  Shape own = rowMajorStrides(spec.inputs[0].local()), strides;
  for (int64_t d : dims)
    strides.push_back(own[d]);
  return run(StridedCopy(shape, strides, rowMajorStrides(shape),
                         itemSize(spec.inputs[0].dtype)));
}

PreparedKernel prepareExpand(const KernelSpec &spec) {
  const Shape &shape = spec.outputs[0].local();
  return run(StridedCopy(shape, broadcastStrides(spec.inputs[0], shape.size()),
                         rowMajorStrides(shape),
                         itemSize(spec.inputs[0].dtype)));
}

PreparedKernel prepareSlice(const KernelSpec &spec) {
  const TensorSpec &input = spec.inputs[0];
  const Shape &shape = spec.outputs[0].local();
  const Shape &starts = spec.attrs.getInts("starts");
  const Shape &steps = spec.attrs.getInts("steps");
  Shape own = rowMajorStrides(input.local()), strides = own;
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    // A dim taken in full has start 0 and step 1, and may be a shard.
    bool whole = input.local()[d] == input.global[d];
    if (!whole &&
        (starts[d] != 0 || steps[d] != 1 || shape[d] != input.local()[d]))
      throw Error("slice: dim " + std::to_string(d) +
                      " must be whole to be taken in part",
                  ErrorKind::Placement);
    offset += starts[d] * own[d];
    strides[d] = own[d] * steps[d];
  }
  return run(StridedCopy(shape, strides, rowMajorStrides(shape),
                         itemSize(input.dtype), offset));
}

PreparedKernel prepareCat(const KernelSpec &spec) {
  const Shape &shape = spec.outputs[0].local();
  int64_t dim = spec.attrs.getInt("dim");
  Shape strides = rowMajorStrides(shape);
  std::vector<StridedCopy> copies;
  int64_t position = 0;
  for (const TensorSpec &input : spec.inputs) {
    copies.emplace_back(input.local(), rowMajorStrides(input.local()), strides,
                        itemSize(input.dtype), 0, position * strides[dim]);
    position += input.local()[dim];
  }
  return [copies](const void *const *inputs, void *const *outputs) {
    for (size_t i = 0; i < copies.size(); ++i)
      copies[i].run(inputs[i], outputs[0]);
  };
}

DTORCH_CPU_KERNEL("view", prepareView);
DTORCH_CPU_KERNEL("permute", preparePermute);
DTORCH_CPU_KERNEL("expand", prepareExpand);
DTORCH_CPU_KERNEL("slice", prepareSlice);
DTORCH_CPU_KERNEL("cat", prepareCat);

} // namespace
} // namespace dtorch::cpu
