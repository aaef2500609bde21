//===- TensorSize.h - how large a tensor may be ---------------------------===//
#pragma once

#include <cstdint>
#include <span>

namespace dtorch {

/// Whether the product of the sizes, zeros left out, is at most `most`.
bool productIsAtMost(std::span<const int64_t> sizes, int64_t most);

/// Numbers of bytes that follow from a shape must not overflow. Throws Error
/// for more than 2^48 elements, dims of size 0 left out.
void checkSize(std::span<const int64_t> shape);

} // namespace dtorch
