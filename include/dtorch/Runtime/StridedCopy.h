//===- StridedCopy.h - copies between strided arrays ----------------------===//
#pragma once

#include "dtorch/Sharding/ShardLaw.h"

namespace dtorch {

/// Strides of a dense row-major array, in elements.
Shape rowMajorStrides(std::span<const int64_t> shape);

/// A copy of `shape` elements between two arrays with any strides (0 repeats an
/// element), bound once and run many times. Permutes, slices, expands, and the
/// boxes of every communication are such copies.
class StridedCopy {
public:
  StridedCopy() = default;
  /// Strides and offsets in elements.
  StridedCopy(std::span<const int64_t> shape,
              std::span<const int64_t> sourceStrides,
              std::span<const int64_t> targetStrides, int64_t itemSize,
              int64_t sourceOffset = 0, int64_t targetOffset = 0);

  /// Copies `part` from memory that holds the box `source` to memory that holds
  /// the box `target`; part lies in both.
  static StridedCopy ofBox(const Box &part, const Box &source,
                           const Box &target, int64_t itemSize);

  /// One block that is in its place already stays; the arrays do not overlap
  /// otherwise.
  void run(const void *source, void *target) const;

  /// Bytes written.
  int64_t bytes() const { return total; }
  /// Whether it is one block of memory, which then starts at sourceByte().
  bool isOneBlock() const { return sizes.empty(); }
  int64_t sourceByte() const { return sourceStart; }
  int64_t targetByte() const { return targetStart; }

private:
  // Dims merged as far as strides allow, outermost first; all numbers in bytes.
  // The innermost block is contiguous in both arrays.
  Shape sizes, sourceSteps, targetSteps;
  int64_t block = 0;
  int64_t sourceStart = 0, targetStart = 0, total = 0;
};

} // namespace dtorch
