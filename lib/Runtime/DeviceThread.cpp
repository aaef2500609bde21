//===- DeviceThread.cpp - the thread that is a virtual device -------------===//
#include "dtorch/Runtime/DeviceThread.h"

#include "dtorch/Runtime/Threads.h"

#include <pthread.h>
#include <string>
#include <utility>

namespace dtorch {

DeviceThread::DeviceThread(int64_t device)
    : device(device), thread([this] { loop(); }) {}

DeviceThread::~DeviceThread() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_one();
  thread.join();
}

void DeviceThread::start(std::function<void()> work) {
  {
    std::lock_guard lock(mutex);
    job = std::move(work);
  }
  changed.notify_one();
}

std::byte *DeviceThread::arena(size_t bytes) {
  if (!memory || memory->size() < bytes) {
    memory.reset(); // before the new one, so that both never exist together
    memory = Storage::allocate(bytes + bytes / 4); // sequences grow
  }
  return static_cast<std::byte *>(memory->data());
}

void DeviceThread::loop() {
  pthread_setname_np(pthread_self(),
                     ("dtorch-" + std::to_string(device)).c_str());
  OneThread oneThread;
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return ending || job; });
    if (ending)
      return;
    std::function<void()> work = std::exchange(job, nullptr);
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

} // namespace dtorch
