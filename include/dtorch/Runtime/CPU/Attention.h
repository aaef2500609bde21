//===- Attention.h - what one device computes of an attention -------------===//
#pragma once

#include "dtorch/Runtime/CPU/Kernel.h"

#include <optional>

namespace dtorch::cpu {

/// Sizes, and where each query head finds its K/V head and mask, all from the
/// boxes: query rows and heads, K/V heads and mask may each be whole or a part.
struct AttentionShape {
  int64_t rows = 0;                   ///< L, local
  int64_t keys = 0;                   ///< S
  int64_t width = 0;                  ///< E
  int64_t valueWidth = 0;             ///< Ev
  int64_t firstRow = 0, firstKey = 0; ///< global positions
  bool causal = false;

  /// One per (batch, local query head), in the result's order; offsets in
  /// elements.
  struct Head {
    int64_t query, key, value, mask, result;
  };
  std::vector<Head> heads;

  DType maskType = DType::Bool;
  bool hasMask = false;
  int64_t maskRowStride = 0, maskKeyStride = 0;

  explicit AttentionShape(const KernelSpec &spec);
};

} // namespace dtorch::cpu
