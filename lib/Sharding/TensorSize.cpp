//===- TensorSize.cpp - how large a tensor may be -------------------------===//

#include "dtorch/Sharding/TensorSize.h"

#include "dtorch/Sharding/Mesh.h"
#include "dtorch/Support/Error.h"

using namespace dtorch;

bool dtorch::productIsAtMost(std::span<const int64_t> sizes, int64_t most) {
  for (int64_t n : sizes)
    if (n > 0)
      most /= n;
  return most > 0;
}

void dtorch::checkSize(std::span<const int64_t> shape) {
  if (!productIsAtMost(shape, int64_t(1) << 48))
    throw Error("tensor: must have at most 2^48 elements, got shape " +
                toString(shape));
}
