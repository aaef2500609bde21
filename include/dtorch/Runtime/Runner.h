//===- Runner.h - executes bound steps ------------------------------------===//
#pragma once

#include "dtorch/Runtime/BoundFunction.h"

#include <atomic>
#include <random>

namespace dtorch {

/// Executes a bound program on the thread of its device. Throws Error with the
/// place, or RunAborted.
class Runner {
public:
  /// `stop` becomes true when another device failed.
  Runner(int64_t device, const std::atomic<bool> &stop);

  /// The entry's arguments and results are in its slots already.
  void run(BoundFunction &function, std::byte *arena);

private:
  void runStep(BoundFunction &function, BoundStep &step, std::byte *arena);
  void fromHost(BoundFunction &function, BoundStep &step);
  void call(BoundFunction &function, BoundStep &step, std::byte *arena);
  void delay();

  const int64_t device;
  const std::atomic<bool> &stop;
  bool jitter = false;
  std::mt19937 random;
};

} // namespace dtorch
