//===- LocalExecutor.h - programs on virtual devices ----------------------===//
#pragma once

#include "dtorch/Runtime/BoundFunction.h"
#include "dtorch/Runtime/Comm/LocalCommunicator.h"
#include "dtorch/Runtime/DeviceThread.h"
#include "dtorch/Runtime/Executor.h"

#include <sys/types.h>

namespace dtorch {

class LocalProgram final : public LoadedProgram {
public:
  const Program &program() const override { return source; }

  Program source;
  BoundProgram host;
  std::vector<BoundProgram> devices; ///< of the program's meshes, ascending
  /// The entry's buffers by argument and result number.
  std::vector<const ProgramBuffer *> arguments, results;
  /// Bytes of each part of each argument.
  std::vector<std::vector<int64_t>> argumentBytes;
};

class LocalExecutor final : public Executor {
public:
  LocalExecutor();
  ~LocalExecutor() override;
  int64_t numDevices() const override;
  std::shared_ptr<LoadedProgram> load(Program program) override;
  std::vector<DistTensorRef>
  run(LoadedProgram &program, std::span<const RunArgument> arguments) override;
  RunTimes lastRun() const override { return {began.load(), ended.load()}; }

private:
  struct Run;
  void ensureThreads(const LocalProgram &program);
  void runDevice(Run &run, BoundProgram &bound, std::byte *arena);

  LocalCommunicator communicator;
  std::map<int64_t, std::unique_ptr<DeviceThread>> threads;
  StorageRef hostArena;
  std::atomic<int64_t> began{0}, ended{0};
  std::mutex mutex; ///< one load or run at a time
  pid_t owner;      ///< threads do not survive a fork
};

} // namespace dtorch
