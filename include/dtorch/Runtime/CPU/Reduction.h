//===- Reduction.h - combining the parts of pending values ----------------===//
#pragma once

#include "dtorch/Sharding/Placement.h"
#include "dtorch/Support/DType.h"

#include <span>

namespace dtorch {

/// output[i] = the inputs' [i] combined in the order given, which is rank order
/// everywhere, so that all replicas get the same bits. 16-bit types accumulate
/// in fp32, fp32 sums in fp64, and round once; bool takes sum and max as "any";
/// max and min propagate NaN. The output may be one of the inputs.
void reduceElements(DType dtype, ReduceKind kind,
                    std::span<const void *const> inputs, void *output,
                    int64_t count);

} // namespace dtorch
