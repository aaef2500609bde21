//===- Runner.cpp - executes bound steps ----------------------------------===//
#include "dtorch/Runtime/Runner.h"

#include "dtorch/Support/Error.h"

#include <cstdlib>
#include <cstring>
#include <thread>

namespace dtorch {

namespace {

/// An Error that has its place already.
struct LocatedError : Error {
  explicit LocatedError(const Error &error) : Error(error) {}
};

} // namespace

Runner::Runner(int64_t device, const std::atomic<bool> &stop)
    : device(device), stop(stop) {
  if (const char *seed = std::getenv("DTORCH_TEST_JITTER"); seed && *seed) {
    jitter = true;
    random.seed(std::strtoul(seed, nullptr, 10) * 1000003 + device + 1);
  }
}

/// Devices drift apart by up to 200 microseconds an instruction.
void Runner::delay() {
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 201));
}

void Runner::run(BoundFunction &function, std::byte *arena) {
  for (auto [slot, offset] : function.arenaSlots)
    function.slots[slot] = {arena + offset, false};
  const BoundStep *current = nullptr;
  try {
    for (BoundStep &step : function.steps) {
      current = &step;
      if (stop.load(std::memory_order_relaxed))
        throw RunAborted();
      if (jitter)
        delay();
      runStep(function, step, arena);
      if (step.replicaCheck)
        step.replicaCheck->run(function.slots[step.outputs[0]].data, nullptr);
    }
  } catch (const LocatedError &) {
    throw;
  } catch (const Error &error) {
    throw LocatedError(
        locate(error, *function.function, current->number, device));
  } catch (const std::exception &error) {
    throw LocatedError(locate(Error(error.what(), ErrorKind::Runtime),
                              *function.function, current->number, device));
  }
}

void Runner::runStep(BoundFunction &function, BoundStep &step,
                     std::byte *arena) {
  std::vector<Slot> &slots = function.slots;
  switch (step.kind) {
  case BoundStep::Kind::Launch:
    for (size_t i = 0; i < step.inputs.size(); ++i)
      step.inputData[i] = slots[step.inputs[i]].data;
    for (size_t i = 0; i < step.outputs.size(); ++i)
      step.outputData[i] = slots[step.outputs[i]].data;
    step.kernel(step.inputData.data(), step.outputData.data());
    return;
  case BoundStep::Kind::Communicate:
    step.communication->run(slots[step.inputs[0]].data,
                            slots[step.outputs[0]].data);
    return;
  case BoundStep::Kind::FromHost:
    fromHost(function, step);
    return;
  case BoundStep::Kind::Copy:
    std::memmove(slots[step.outputs[0]].data, slots[step.inputs[0]].data,
                 step.bytes);
    return;
  case BoundStep::Kind::Call:
    call(function, step, arena);
    return;
  }
}

void Runner::fromHost(BoundFunction &function, BoundStep &step) {
  Slot source = function.slots[step.inputs[0]];
  Slot &target = function.slots[step.outputs[0]];
  if (!source.constant) {
    step.communication->run(source.data, target.data);
    return;
  }
  if (device == hostDevice)
    return; // devices help themselves
  if (step.alias >= 0) {
    target.data = source.data + step.alias;
    return;
  }
  if (step.plan.zero)
    std::memset(target.data, 0, step.plan.targetBytes);
  for (const auto &[peer, copy] : step.plan.pieces)
    copy.run(source.data, target.data);
}

void Runner::call(BoundFunction &function, BoundStep &step, std::byte *arena) {
  BoundFunction &callee = *step.callee;
  for (size_t i = 0; i < step.inputs.size(); ++i)
    callee.slots[callee.argumentSlots[i]] = function.slots[step.inputs[i]];
  for (size_t i = 0; i < step.outputs.size(); ++i)
    callee.slots[callee.resultSlots[i]] = function.slots[step.outputs[i]];
  run(callee, arena + step.instruction->offset);
}

} // namespace dtorch
