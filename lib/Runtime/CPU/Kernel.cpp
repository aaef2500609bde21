//===- Kernel.cpp - what kernel files share -------------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"

#include "dtorch/Runtime/Storage.h"

#include <vector>

namespace dtorch::cpu {

void *scratchBytes(size_t bytes, int slot) {
  thread_local std::vector<StorageRef> blocks;
  if (blocks.size() <= static_cast<size_t>(slot))
    blocks.resize(slot + 1);
  StorageRef &block = blocks[slot];
  if (!block || block->size() < bytes)
    block = Storage::allocate(std::max<size_t>(bytes, 4096));
  return block->data();
}

Shape broadcastStrides(const TensorSpec &operand, size_t rank) {
  Shape own = rowMajorStrides(operand.local());
  Shape strides(rank, 0);
  size_t pad = rank - own.size();
  for (size_t d = 0; d < own.size(); ++d)
    strides[pad + d] = operand.global[d] == 1 ? 0 : own[d];
  return strides;
}

} // namespace dtorch::cpu
