//===- Barrier.h - meeting point of a group of threads --------------------===//
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace dtorch {

/// Threads meet again and again; each meeting is an epoch. Waiting spins
/// briefly, then yields, then sleeps: devices are often more than cores. A wait
/// ends early when `aborted` becomes true, or at the deadline.
class Barrier {
public:
  enum class Outcome : uint8_t { Met, Aborted, TimedOut };
  using Clock = std::chrono::steady_clock;

  explicit Barrier(uint32_t size) : size(size) {}

  Outcome wait(const std::atomic<bool> &aborted,
               std::chrono::milliseconds timeout);
  /// Wakes sleepers so that they see `aborted`.
  void wake();
  /// Forgets a meeting that was broken off; nobody may be waiting.
  void reset() { arrived.store(0, std::memory_order_relaxed); }

private:
  const uint32_t size;
  alignas(64) std::atomic<uint32_t> arrived = 0;
  alignas(64) std::atomic<uint32_t> epoch = 0;
  std::atomic<uint32_t> sleepers = 0;
};

} // namespace dtorch
