//===- AttentionShape.cpp - positions and heads of an attention -----------===//
#include "dtorch/Runtime/CPU/Attention.h"

namespace dtorch::cpu {

namespace {

/// Element offset, in the local part of `operand`, of global index `position`
/// of dim `dim`; dims that are 1 globally repeat.
int64_t offsetOf(const TensorSpec &operand, size_t dim, int64_t position,
                 const char *name) {
  if (operand.global[dim] == 1)
    position = 0;
  int64_t local = position - operand.box.offset[dim];
  if (local < 0 || local >= operand.local()[dim])
    throw Error(
        "sdpa: " + std::string(name) + " has no index " +
            std::to_string(position) + " of dim " + std::to_string(dim) +
            " on this device, found [" +
            std::to_string(operand.box.offset[dim]) + ", " +
            std::to_string(operand.box.offset[dim] + operand.local()[dim]) +
            ")",
        ErrorKind::Placement);
  return local * rowMajorStrides(operand.local())[dim];
}

} // namespace

AttentionShape::AttentionShape(const KernelSpec &spec) {
  const TensorSpec &query = spec.inputs[0], &key = spec.inputs[1];
  const TensorSpec &value = spec.inputs[2], &result = spec.outputs[0];
  size_t rank = query.global.size(), head = rank - 3;
  rows = query.local()[rank - 2];
  keys = key.local()[rank - 2];
  width = query.local()[rank - 1];
  valueWidth = value.local()[rank - 1];
  firstRow = query.box.offset[rank - 2];
  firstKey = key.box.offset[rank - 2];
  causal = spec.attrs.getBool("is_causal");
  int64_t group = query.global[head] / std::max<int64_t>(key.global[head], 1);
  const TensorSpec *mask = spec.inputs.size() > 4 ? &spec.inputs[4] : nullptr;
  int64_t maskStart = 0;
  if (mask) {
    hasMask = true;
    maskType = mask->dtype;
    Shape strides = broadcastStrides(*mask, rank);
    maskRowStride = strides[rank - 2];
    maskKeyStride = strides[rank - 1];
    size_t pad = rank - mask->global.size();
    // The device's first row and key within its part of the mask.
    if (rank - 2 >= pad && rows > 0)
      maskStart += offsetOf(*mask, rank - 2 - pad, firstRow, "mask");
    if (keys > 0)
      maskStart += offsetOf(*mask, rank - 1 - pad, firstKey, "mask");
  }
  if (result.box.empty() || keys == 0)
    return;

  Shape sizes(query.local().begin(), query.local().begin() + head + 1);
  Shape index(head + 1, 0);
  int64_t count = numElements(sizes);
  for (int64_t i = 0; i < count; ++i) {
    Head at{i * rows * width, 0, 0, maskStart, i * rows * valueWidth};
    for (size_t d = 0; d <= head; ++d) {
      int64_t position = query.box.offset[d] + index[d];
      int64_t keyPosition = d == head ? position / group : position;
      at.key += offsetOf(key, d, keyPosition, "key");
      at.value += offsetOf(value, d, keyPosition, "value");
      if (mask) {
        size_t pad = rank - mask->global.size();
        if (d >= pad)
          at.mask += offsetOf(*mask, d - pad, position, "mask");
      }
    }
    heads.push_back(at);
    for (size_t d = head + 1; d-- > 0;) {
      if (++index[d] < sizes[d])
        break;
      index[d] = 0;
    }
  }
}

} // namespace dtorch::cpu
