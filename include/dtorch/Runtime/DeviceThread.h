//===- DeviceThread.h - the thread that is a virtual device ---------------===//
#pragma once

#include "dtorch/Runtime/Storage.h"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>

namespace dtorch {

/// One virtual device: a thread that waits for work, and its arena.
class DeviceThread {
public:
  explicit DeviceThread(int64_t device);
  /// Ends the thread, which must be idle.
  ~DeviceThread();

  /// Hands over a job; the thread must be idle. The job must not throw.
  void start(std::function<void()> job);

  /// Memory of at least that size, kept for the next run; some more, so that
  /// slowly growing programs do not ask each time. Called by the device's own
  /// thread.
  std::byte *arena(size_t bytes);

private:
  void loop();

  const int64_t device;
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> job;
  bool ending = false;
  StorageRef memory;
  std::thread thread; // last: it uses the others
};

} // namespace dtorch
