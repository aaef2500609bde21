//===- Storage.cpp - memory of tensors ------------------------------------===//
#include "dtorch/Runtime/Storage.h"

#include "dtorch/Support/Error.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <sys/mman.h>

namespace dtorch {

namespace {

constexpr size_t alignment = 64;

[[noreturn]] void throwOutOfMemory(size_t bytes) {
  throw Error("storage: cannot allocate " + std::to_string(bytes) + " bytes",
              ErrorKind::Runtime);
}

} // namespace

StorageRef Storage::allocate(size_t bytes) {
  // aligned_alloc wants a multiple of the alignment; never 0, so that even
  // empty tensors have an address.
  size_t rounded =
      std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  void *data = std::aligned_alloc(alignment, rounded);
  if (!data)
    throwOutOfMemory(bytes);
  return borrow(data, bytes, std::shared_ptr<void>(data, std::free));
}

StorageRef Storage::borrow(void *data, size_t bytes,
                           std::shared_ptr<void> owner) {
  static char nothing[alignment]; // the address of empty arrays
  auto storage = std::make_shared<Storage>();
  storage->pointer = data ? data : nothing;
  storage->bytes = bytes;
  storage->owner = std::move(owner);
  return storage;
}

StorageRef Storage::zeros(size_t bytes) {
  // Pages of a private read-only anonymous map all are the system's one zero
  // page until written, which nobody may.
  static std::mutex mutex;
  static StorageRef largest;
  std::lock_guard lock(mutex);
  if (!largest || largest->size() < bytes) {
    size_t size = std::max<size_t>(bytes, size_t(1) << 20);
    void *data = mmap(nullptr, size, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
      throwOutOfMemory(bytes);
    std::shared_ptr<void> owner(data, [size](void *p) { munmap(p, size); });
    largest = borrow(data, size, std::move(owner));
  }
  return borrow(largest->data(), bytes, largest);
}

} // namespace dtorch
