//===- Triangle.cpp - one side of a diagonal ------------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"

#include <cstring>

namespace dtorch::cpu {
namespace {

/// Rows and columns count from the whole matrix: the box tells where they
/// start.
PreparedKernel prepareTriangle(const KernelSpec &spec) {
  const TensorSpec &result = spec.outputs[0];
  bool lower = spec.attrs.getString("kind") == "tril";
  if (!(spec.inputs[0].box == result.box))
    throw Error("tril_triu: input must be sharded as the result",
                ErrorKind::Placement);
  if (result.box.empty())
    return doNothing();
  size_t rank = result.global.size();
  int64_t height = result.global[rank - 2], width = result.global[rank - 1];
  int64_t rows = result.local()[rank - 2], columns = result.local()[rank - 1];
  int64_t matrices = product(result.local(), 0, rank - 2);
  int64_t diagonal = std::clamp(spec.attrs.getInt("diagonal"), -height, width);
  // Column `diagonal` of row 0, as the box sees it.
  int64_t start = result.box.offset[rank - 2] - result.box.offset[rank - 1];
  int64_t first = start + diagonal + (lower ? 1 : 0);
  int64_t item = itemSize(result.dtype);
  return [=](const void *const *inputs, void *const *outputs) {
    const char *x = in<char>(inputs, 0);
    char *y = out<char>(outputs);
    for (int64_t m = 0; m < matrices; ++m)
      for (int64_t r = 0; r < rows; ++r) {
        size_t split = std::clamp<int64_t>(first + r, 0, columns) * item;
        size_t rest = columns * item - split;
        if (lower) {
          std::memcpy(y, x, split);
          std::memset(y + split, 0, rest);
        } else {
          std::memset(y, 0, split);
          std::memcpy(y + split, x + split, rest);
        }
        x += split + rest;
        y += split + rest;
      }
  };
}

DTORCH_CPU_KERNEL("tril_triu", prepareTriangle);

} // namespace
} // namespace dtorch::cpu
