//===- Barrier.cpp - meeting point of a group of threads ------------------===//
#include "dtorch/Runtime/Comm/Barrier.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dtorch {

namespace {

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Sleeps while the word has the value, for a while at most.
void sleepOn(std::atomic<uint32_t> &word, uint32_t value,
             std::chrono::nanoseconds time) {
  timespec limit{static_cast<time_t>(time.count() / 1000000000),
                 static_cast<long>(time.count() % 1000000000)};
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE,
          value, &limit, nullptr, 0);
}

} // namespace

Barrier::Outcome Barrier::wait(const std::atomic<bool> &aborted,
                               std::chrono::milliseconds timeout) {
  constexpr int spins = 64, yields = 32;
  uint32_t before = epoch.load(std::memory_order_acquire);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
    arrived.store(0, std::memory_order_relaxed);
    epoch.store(before + 1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst))
      wake();
    return Outcome::Met;
  }
  auto met = [&] { return epoch.load(std::memory_order_seq_cst) != before; };
  for (int i = 0; i < spins; ++i) {
    if (met())
      return Outcome::Met;
    pause();
  }
  for (int i = 0; i < yields; ++i) {
    if (met())
      return Outcome::Met;
    sched_yield();
  }
  auto deadline = Clock::now() + timeout;
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  Outcome outcome = Outcome::Met;
  while (!met()) {
    auto left = deadline - Clock::now();
    if (aborted.load(std::memory_order_acquire))
      outcome = Outcome::Aborted;
    else if (left <= left.zero())
      outcome = Outcome::TimedOut;
    if (outcome != Outcome::Met)
      break;
    // Short sleeps bound the harm of a wake-up that comes between the look at
    // `aborted` and the sleep.
    sleepOn(epoch, before,
            std::min<std::chrono::nanoseconds>(left,
                                               std::chrono::milliseconds(50)));
  }
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return outcome;
}

void Barrier::wake() {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&epoch), FUTEX_WAKE_PRIVATE,
          INT_MAX, nullptr, nullptr, 0);
}

} // namespace dtorch
