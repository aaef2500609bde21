//===- StridedCopy.cpp - copies between strided arrays --------------------===//
#include "dtorch/Runtime/StridedCopy.h"

#include <algorithm>
#include <cstring>

namespace dtorch {

Shape rowMajorStrides(std::span<const int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  return strides;
}

StridedCopy::StridedCopy(std::span<const int64_t> shape,
                         std::span<const int64_t> sourceStrides,
                         std::span<const int64_t> targetStrides,
                         int64_t itemSize, int64_t sourceOffset,
                         int64_t targetOffset)
    : block(itemSize), sourceStart(sourceOffset * itemSize),
      targetStart(targetOffset * itemSize),
      total(dtorch::numElements(shape) * itemSize) {
  if (total == 0)
    return;
  // From the innermost dim outwards: skip size 1, merge a dim into the block or
  // into the dim inside it where memory continues in both arrays.
  for (size_t d = shape.size(); d-- > 0;) {
    int64_t size = shape[d];
    int64_t source = sourceStrides[d] * itemSize;
    int64_t target = targetStrides[d] * itemSize;
    if (size == 1)
      continue;
    if (sizes.empty() && source == block && target == block) {
      block *= size;
    } else if (!sizes.empty() && source == sourceSteps.back() * sizes.back() &&
               target == targetSteps.back() * sizes.back()) {
      sizes.back() *= size;
    } else {
      sizes.push_back(size);
      sourceSteps.push_back(source);
      targetSteps.push_back(target);
    }
  }
  std::reverse(sizes.begin(), sizes.end());
  std::reverse(sourceSteps.begin(), sourceSteps.end());
  std::reverse(targetSteps.begin(), targetSteps.end());
}

StridedCopy StridedCopy::ofBox(const Box &part, const Box &source,
                               const Box &target, int64_t itemSize) {
  Shape from = rowMajorStrides(source.size), to = rowMajorStrides(target.size);
  int64_t sourceOffset = 0, targetOffset = 0;
  for (size_t d = 0; d < part.size.size(); ++d) {
    sourceOffset += (part.offset[d] - source.offset[d]) * from[d];
    targetOffset += (part.offset[d] - target.offset[d]) * to[d];
  }
  return StridedCopy(part.size, from, to, itemSize, sourceOffset, targetOffset);
}

namespace {

using Byte = unsigned char;

/// Moves the innermost one or two dims; tiles of 16x16 keep both sides of a
/// transpose within the cache.
template <typename Move>
void copyInner(const Byte *source, Byte *target, int64_t n0, int64_t s0,
               int64_t t0, int64_t n1, int64_t s1, int64_t t1, Move move) {
  constexpr int64_t tile = 16;
  for (int64_t i0 = 0; i0 < n0; i0 += tile)
    for (int64_t j0 = 0; j0 < n1; j0 += tile)
      for (int64_t i = i0, ie = std::min(i0 + tile, n0); i < ie; ++i)
        for (int64_t j = j0, je = std::min(j0 + tile, n1); j < je; ++j)
          move(source + i * s0 + j * s1, target + i * t0 + j * t1);
}

template <typename T> void moveItem(const Byte *source, Byte *target) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  std::memcpy(target, &value, sizeof(T));
}

} // namespace

void StridedCopy::run(const void *from, void *to) const {
  if (total == 0)
    return;
  const Byte *source = static_cast<const Byte *>(from) + sourceStart;
  Byte *target = static_cast<Byte *>(to) + targetStart;
  size_t rank = sizes.size();
  if (rank == 0) {
    if (target != source)
      std::memcpy(target, source, block);
    return;
  }
  int64_t n1 = sizes[rank - 1], s1 = sourceSteps[rank - 1],
          t1 = targetSteps[rank - 1];
  int64_t n0 = 1, s0 = 0, t0 = 0;
  size_t outer = rank - 1;
  if (rank > 1) {
    --outer;
    n0 = sizes[outer], s0 = sourceSteps[outer], t0 = targetSteps[outer];
  }
  auto inner = [&](const Byte *s, Byte *t) {
    switch (block) {
    case 1:
      return copyInner(s, t, n0, s0, t0, n1, s1, t1, moveItem<uint8_t>);
    case 2:
      return copyInner(s, t, n0, s0, t0, n1, s1, t1, moveItem<uint16_t>);
    case 4:
      return copyInner(s, t, n0, s0, t0, n1, s1, t1, moveItem<uint32_t>);
    case 8:
      return copyInner(s, t, n0, s0, t0, n1, s1, t1, moveItem<uint64_t>);
    default:
      for (int64_t i = 0; i < n0; ++i)
        for (int64_t j = 0; j < n1; ++j)
          std::memcpy(t + i * t0 + j * t1, s + i * s0 + j * s1, block);
    }
  };
  // Odometer over the outer dims.
  Shape index(outer, 0);
  while (true) {
    inner(source, target);
    size_t d = outer;
    while (d-- > 0) {
      source += sourceSteps[d];
      target += targetSteps[d];
      if (++index[d] < sizes[d])
        break;
      source -= sourceSteps[d] * sizes[d];
      target -= targetSteps[d] * sizes[d];
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

} // namespace dtorch
