//===- Threads.h - one thread a library call ------------------------------===//
#pragma once

namespace dtorch {

/// While it lives, OpenMP regions that this thread opens (oneDNN's) have one
/// thread: devices are threads, and more would oversubscribe the cores.
class OneThread {
public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread &) = delete;
  OneThread &operator=(const OneThread &) = delete;

private:
  int before;
};

} // namespace dtorch
