//===- Movement.cpp - view, permute, expand, slice, flip, pad, cat --------===//
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

PreparedKernel prepareFlip(const KernelSpec &spec) {
  const Shape &shape = spec.outputs[0].local();
  Shape own = rowMajorStrides(shape), strides = own;
  int64_t offset = 0;
  for (int64_t d : spec.attrs.getInts("dims")) {
    offset += (shape[d] - 1) * own[d];
    strides[d] = -own[d];
  }
  return run(
      StridedCopy(shape, strides, own, itemSize(spec.inputs[0].dtype), offset));
}

PreparedKernel preparePad(const KernelSpec &spec) {
  const TensorSpec &input = spec.inputs[0];
  const Shape &shape = spec.outputs[0].local();
  const Shape &before = spec.attrs.getInts("before");
  const Shape &after = spec.attrs.getInts("after");
  Shape strides = rowMajorStrides(shape);
  int64_t count = spec.outputs[0].box.numElements(), offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != input.local()[d] + before[d] + after[d])
      throw Error("pad: dim " + std::to_string(d) + " must be whole to grow",
                  ErrorKind::Placement);
    offset += before[d] * strides[d];
  }
  StridedCopy copy(input.local(), rowMajorStrides(input.local()), strides,
                   itemSize(input.dtype), 0, offset);
  return dispatchWord(input.dtype, [&](auto tag) -> PreparedKernel {
    using Word = typename decltype(tag)::type;
    return [=](const void *const *inputs, void *const *outputs) {
      std::fill_n(out<Word>(outputs), count, *in<Word>(inputs, 1));
      copy.run(inputs[0], outputs[0]);
    };
  });
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
DTORCH_CPU_KERNEL("flip", prepareFlip);
DTORCH_CPU_KERNEL("pad", preparePad);
DTORCH_CPU_KERNEL("cat", prepareCat);

} // namespace
} // namespace dtorch::cpu
