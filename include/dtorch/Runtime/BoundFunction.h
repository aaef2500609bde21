//===- BoundFunction.h - a function as one device runs it -----------------===//
#pragma once

#include "dtorch/Runtime/Comm/Communicator.h"
#include "dtorch/Runtime/KernelRegistry.h"
#include "dtorch/Runtime/Program.h"
#include "dtorch/Support/Error.h"

#include <cstddef>

namespace dtorch {

/// Where a buffer is now. Set when the function is entered, so one bound
/// function serves all its calls.
struct Slot {
  std::byte *data = nullptr;
  /// A host value that is complete before the run starts (an argument of the
  /// entry): devices read it without meeting the host.
  bool constant = false;
};

struct BoundFunction;

struct BoundStep {
  enum class Kind : uint8_t { Launch, Communicate, FromHost, Copy, Call };
  Kind kind;
  const Instruction *instruction;
  int64_t number;                       ///< of the instruction in its function
  std::vector<int64_t> inputs, outputs; ///< slots
  PreparedKernel kernel;
  std::unique_ptr<Communication> communication;
  CommunicationPlan plan; ///< FromHost, on devices
  int64_t alias = -1;     ///< FromHost: byte of the host's value to refer to
  size_t bytes = 0;       ///< Copy
  BoundFunction *callee = nullptr;
  std::vector<const void *> inputData; ///< room for the pointers of a launch
  std::vector<void *> outputData;
  std::unique_ptr<Communication> replicaCheck;
};

struct BoundFunction {
  const ProgramFunction *function;
  std::vector<Slot> slots; ///< by buffer; of aliases unused
  std::vector<std::pair<int64_t, int64_t>> arenaSlots; ///< slot, offset
  std::vector<int64_t> argumentSlots, resultSlots;     ///< by index
  /// Buffers of the entry that are computed where to_host would put them.
  struct InPlace {
    int64_t slot, resultSlot, byte;
  };
  std::vector<InPlace> inPlace;
  std::vector<BoundStep> steps; ///< those that concern the device
};

/// All functions of a program, bound for one device (or the host).
struct BoundProgram {
  int64_t device;
  std::vector<std::unique_ptr<BoundFunction>> functions;
  BoundFunction &entry() { return *functions.back(); }
};

/// Binds for a device. Throws Error with the instruction's place.
BoundProgram bindProgram(const Program &program, int64_t device,
                         Communicator &communicator, bool checkReplicas);

/// An error with the place where it happened: a second line for the reader.
Error locate(const Error &error, const ProgramFunction &function,
             int64_t number, int64_t device);

} // namespace dtorch
