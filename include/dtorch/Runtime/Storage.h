//===- Storage.h - memory of tensors --------------------------------------===//
#pragma once

#include "dtorch/Sharding/ShardLaw.h"
#include "dtorch/Support/DType.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace dtorch {

/// A block of host memory, 64-byte aligned when owned. It may belong to
/// somebody else (a NumPy array, a mapped file), kept alive by `owner`.
class Storage {
public:
  static std::shared_ptr<Storage> allocate(size_t bytes);
  static std::shared_ptr<Storage> borrow(void *data, size_t bytes,
                                         std::shared_ptr<void> owner);
  /// Read-only zeros; all callers share untouched pages.
  static std::shared_ptr<Storage> zeros(size_t bytes);

  void *data() const { return pointer; }
  size_t size() const { return bytes; }

private:
  void *pointer = nullptr;
  size_t bytes = 0;
  std::shared_ptr<void> owner;
};
using StorageRef = std::shared_ptr<Storage>;

/// Global shape, element type and where it lies.
struct BufferType {
  Shape shape;
  DType dtype = DType::Float32;
  Sharding sharding;
  bool operator==(const BufferType &) const = default;
  /// `3x8xf32, [S(0), R]` in messages.
  std::string str() const;
  /// Box held by the index-th device of the mesh (index 0 for the host).
  Box boxOf(int64_t index) const;
  /// Bytes of the largest local part.
  size_t maxLocalBytes() const;
};

/// A global tensor in pieces: one storage per device of the mesh in mesh
/// order, dense row-major. Devices with the same box share one read-only
/// storage. `locals` holds null for devices of other processes.
struct DistTensor {
  BufferType type;
  std::vector<StorageRef> locals;
};
using DistTensorRef = std::shared_ptr<const DistTensor>;

/// Cuts a global value (dense row-major host memory) by the law. Boxes that are
/// contiguous in it share its storage; others are copied once per distinct box.
/// Pending axes: the device at coordinate 0 holds the value, others zeros.
DistTensorRef distribute(const StorageRef &global, const BufferType &type);

/// Assembles the global value into dense memory, reducing pending axes in rank
/// order. For state dicts and tests; programs use collectives.
void assemble(const DistTensor &tensor, void *global);

} // namespace dtorch
