//===- Communicator.h - how devices exchange data -------------------------===//
#pragma once

#include "dtorch/Runtime/Comm/CommunicationPlan.h"

#include <chrono>
#include <memory>

namespace dtorch {

/// The number by which the host takes part in communications.
inline constexpr int64_t hostDevice = -1;

/// One communication, bound for one device.
class Communication {
public:
  virtual ~Communication() = default;
  /// Called by the device's own thread; every member of the group calls it the
  /// same number of times in the same order. Returns when both pointers may be
  /// reused. Where a member holds only one side (host moves), the other pointer
  /// is not looked at.
  virtual void run(const void *input, void *output) = 0;
};

/// Moves data between the devices of a run. Collectives are counted in here
/// and nowhere else. Implementations: in one process (LocalCommunicator);
/// later MPI and NCCL.
class Communicator {
public:
  virtual ~Communicator() = default;

  /// Binds a communication for a device (its number, or hostDevice), which must
  /// take part in it.
  virtual std::unique_ptr<Communication> bind(const CommunicationSpec &spec,
                                              int64_t device) = 0;

  /// A check that the devices which hold the same part of a value of this type
  /// hold the same bits: run(part, null) throws Error if they do not. Null if
  /// nobody else holds it.
  virtual std::unique_ptr<Communication>
  bindReplicaCheck(const CommunicationSpec &spec, int64_t device) = 0;

  /// Before each run: forgets the last one, sets how long any wait may take.
  virtual void begin(std::chrono::milliseconds timeout) = 0;
  /// Ends all waits of this run, present and future, with RunAborted.
  virtual void abort() = 0;
};

/// Thrown out of a wait because another device failed; that device's error is
/// the one to report.
struct RunAborted {};

} // namespace dtorch
