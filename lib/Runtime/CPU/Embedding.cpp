//===- Embedding.cpp - rows of a table at integer indices -----------------===//
#include "dtorch/Runtime/CPU/Kernel.h"

#include <cstring>

namespace dtorch::cpu {
namespace {

[[noreturn]] void throwOutside(int64_t index, int64_t count) {
  throw Error("embedding: index " + std::to_string(index) + " is outside [0, " +
                  std::to_string(count) + ")",
              ErrorKind::Index);
}

/// A shard of the vocabulary gives zeros for rows it does not hold; the sum
/// over the axis is pending then.
template <typename Index> PreparedKernel embeddingOf(const KernelSpec &spec) {
  const TensorSpec &weight = spec.inputs[0];
  int64_t vocabulary = weight.global[0];
  int64_t begin = weight.box.offset[0], end = begin + weight.box.size[0];
  size_t rowBytes = weight.local()[1] * itemSize(weight.dtype);
  int64_t count = spec.inputs[1].box.numElements();
  return [=](const void *const *inputs, void *const *outputs) {
    const char *table = in<char>(inputs, 0);
    const Index *indices = in<Index>(inputs, 1);
    char *row = out<char>(outputs);
    for (int64_t i = 0; i < count; ++i, row += rowBytes) {
      int64_t index = indices[i];
      if (index < 0 || index >= vocabulary)
        throwOutside(index, vocabulary);
      if (index >= begin && index < end)
        std::memcpy(row, table + (index - begin) * rowBytes, rowBytes);
      else
        std::memset(row, 0, rowBytes);
    }
  };
}

PreparedKernel prepareEmbedding(const KernelSpec &spec) {
  switch (spec.inputs[1].dtype) {
  case DType::Int32:
    return embeddingOf<int32_t>(spec);
  case DType::Int64:
    return embeddingOf<int64_t>(spec);
  default:
    throw Error("embedding: indices are int32 or int64, got " +
                    std::string(toString(spec.inputs[1].dtype)),
                ErrorKind::Type);
  }
}

DTORCH_CPU_KERNEL("embedding", prepareEmbedding);

} // namespace
} // namespace dtorch::cpu
