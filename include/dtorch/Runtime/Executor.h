//===- Executor.h - runs programs on virtual devices ----------------------===//
#pragma once

#include "dtorch/Runtime/Program.h"

#include <map>
#include <memory>
#include <string>

namespace dtorch {

/// A program bound to every device of this process: kernels prepared, peers
/// and pieces of each communication computed.
class LoadedProgram {
public:
  virtual ~LoadedProgram() = default;
  virtual const Program &program() const = 0;
};

/// An argument of a run: a tensor, or a 0-dim host value where it lies. Neither
/// is kept after the run.
struct RunArgument {
  const DistTensor *tensor = nullptr;
  const void *scalar = nullptr; ///< bits in the element type
  DType scalarType = DType::Float32;
};

/// When the last run's first step began and its last one ended: nanoseconds on
/// the monotonic clock. For measuring what stands before the first kernel.
struct RunTimes {
  int64_t began = 0, ended = 0;
};

/// Runs programs on the devices of this process. Each virtual device is one
/// thread; host instructions run on the calling thread. Every wait is bounded
/// (DTORCH_TIMEOUT seconds, default 300); a failing device ends the run on all
/// others at once and its Error is thrown, with op, device and location.
class Executor {
public:
  /// The process-wide executor of "cpu" devices.
  static Executor &local();
  virtual ~Executor() = default;

  /// Devices that a mesh may name: 0 .. numDevices()-1. Settled by
  /// DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE, default 8.
  virtual int64_t numDevices() const = 0;

  virtual std::shared_ptr<LoadedProgram> load(Program program) = 0;

  /// Runs the entry on arguments whose types equal its argument buffers.
  /// Throws Error if they do not. Not reentrant: one run at a time (a second
  /// caller waits).
  virtual std::vector<DistTensorRef>
  run(LoadedProgram &program, std::span<const RunArgument> arguments) = 0;
  std::vector<DistTensorRef> run(LoadedProgram &program,
                                 const std::vector<DistTensorRef> &arguments);
  virtual RunTimes lastRun() const = 0;
};

/// Counts per kind of collective, taken inside the communicator. `count` goes
/// up once per collective that ran (whatever the number of its groups);
/// `bytes` are received, summed over devices. Local steps are not counted.
struct CommunicationCounter {
  int64_t count = 0, bytes = 0;
};
std::map<std::string, CommunicationCounter> communicationCounters();
void resetCommunicationCounters();

} // namespace dtorch
