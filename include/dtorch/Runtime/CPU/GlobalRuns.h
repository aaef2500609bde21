//===- GlobalRuns.h - a box as runs of consecutive elements ---------------===//
#pragma once

#include "dtorch/Runtime/CPU/Kernel.h"

namespace dtorch::cpu {

/// What a box holds, in its own order, as runs of elements that are consecutive
/// in the global tensor.
class GlobalRuns {
public:
  explicit GlobalRuns(const TensorSpec &tensor)
      : strides(rowMajorStrides(tensor.global)) {
    // Along the last dim; and along whole dims inside.
    size_t rank = tensor.global.size(), outer = rank;
    while (outer > 0) {
      --outer;
      run *= tensor.local()[outer];
      if (tensor.local()[outer] != tensor.global[outer])
        break;
    }
    sizes.assign(tensor.local().begin(), tensor.local().begin() + outer);
    for (size_t d = 0; d < rank; ++d)
      first += tensor.box.offset[d] * strides[d];
  }

  /// Calls `body(global index of the first element, number of elements)`.
  template <typename Body> void forEach(Body body) const {
    forEachOffset(sizes, strides,
                  [&](int64_t offset) { body(first + offset, run); });
  }

private:
  Shape sizes, strides;
  int64_t first = 0, run = 1;
};

} // namespace dtorch::cpu
