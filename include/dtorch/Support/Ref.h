//===- Ref.h - references that are counted in the object ------------------===//
//
// A recorded op makes and drops a handful of references, so a count beside a
// shared_ptr's block, which takes an allocation or two words, is too dear.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace dtorch {

/// Base of objects that count their references. The last one to leave calls
/// `destroy()` of the derived class.
template <typename Derived> class Counted {
public:
  void retain() const { count.fetch_add(1, std::memory_order_relaxed); }
  void drop() const {
    if (count.fetch_sub(1, std::memory_order_acq_rel) == 1)
      static_cast<const Derived *>(this)->destroy();
  }
  /// Takes a reference unless the last one has left already: for tables that
  /// know objects without keeping them alive.
  bool retainIfAlive() const {
    uint32_t seen = count.load(std::memory_order_relaxed);
    while (seen)
      if (count.compare_exchange_weak(seen, seen + 1,
                                      std::memory_order_acquire))
        return true;
    return false;
  }
  int64_t useCount() const { return count.load(std::memory_order_relaxed); }

protected:
  Counted() = default;
  Counted(const Counted &) {} // the copy has references of its own
  Counted &operator=(const Counted &) { return *this; }

private:
  mutable std::atomic<uint32_t> count{0};
};

/// A reference that keeps its object alive.
template <typename T> class Ref {
public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T *object) : object(object) {
    if (object)
      object->retain();
  }
  Ref(const Ref &other) : Ref(other.object) {}
  Ref(Ref &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  ~Ref() { reset(); }
  Ref &operator=(Ref other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  /// Takes over a reference that somebody else counted.
  static Ref adopt(T *object) {
    Ref ref;
    ref.object = object;
    return ref;
  }

  void reset() {
    if (T *old = std::exchange(object, nullptr))
      old->drop();
  }
  T *get() const { return object; }
  T *operator->() const { return object; }
  T &operator*() const { return *object; }
  explicit operator bool() const { return object; }
  bool operator==(const Ref &other) const { return object == other.object; }
  bool operator==(std::nullptr_t) const { return !object; }
  int64_t useCount() const { return object ? object->useCount() : 0; }

private:
  T *object = nullptr;
};

} // namespace dtorch
