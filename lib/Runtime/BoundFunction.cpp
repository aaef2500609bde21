//===- BoundFunction.cpp - binding a program for one device ---------------===//
#include "dtorch/Runtime/BoundFunction.h"

#include <algorithm>
#include <optional>

namespace dtorch {

namespace {

class Binder {
public:
  Binder(const Program &program, BoundProgram &bound,
         Communicator &communicator, bool checkReplicas)
      : program(program), bound(bound), communicator(communicator),
        checkReplicas(checkReplicas), device(bound.device) {}

  void bind(size_t functionNumber) {
    function = &program.functions[functionNumber];
    firstNumber = 0;
    for (size_t f = 0; f < functionNumber; ++f)
      firstNumber += program.functions[f].instructions.size();
    bound.functions.push_back(std::make_unique<BoundFunction>());
    result = bound.functions.back().get();
    result->function = function;
    bindBuffers();
    countWrites();
    for (size_t i = 0; i < function->instructions.size(); ++i) {
      try {
        bindInstruction(function->instructions[i], i);
      } catch (const Error &error) {
        throw locate(error, *function, i, device);
      }
    }
  }

private:
  const BufferType &typeOf(int64_t buffer) const {
    return function->buffers[buffer].type;
  }

  /// The device's index in the mesh of a buffer, if it holds a part.
  std::optional<int64_t> indexIn(const BufferType &type) const {
    if (type.sharding.isHost())
      return device == hostDevice ? std::optional<int64_t>(0) : std::nullopt;
    return device == hostDevice ? std::nullopt
                                : type.sharding.mesh->indexOfDevice(device);
  }

  int64_t slotOf(int64_t buffer) const {
    while (function->buffers[buffer].kind == ProgramBuffer::Kind::Alias)
      buffer = function->buffers[buffer].index;
    return buffer;
  }

  void bindBuffers() {
    size_t count = function->buffers.size();
    result->slots.resize(count);
    auto place = [](std::vector<int64_t> &slots, int64_t index, int64_t slot) {
      if (slots.size() <= static_cast<size_t>(index))
        slots.resize(index + 1);
      slots[index] = slot;
    };
    for (size_t i = 0; i < count; ++i) {
      const ProgramBuffer &buffer = function->buffers[i];
      if (buffer.kind == ProgramBuffer::Kind::Argument)
        place(result->argumentSlots, buffer.index, i);
      else if (buffer.kind == ProgramBuffer::Kind::Result)
        place(result->resultSlots, buffer.index, i);
      else if (buffer.kind == ProgramBuffer::Kind::Arena &&
               indexIn(buffer.type))
        result->arenaSlots.emplace_back(i, buffer.offset);
    }
  }

  void countWrites() {
    writes.assign(function->buffers.size(), 0);
    for (const Instruction &in : function->instructions)
      for (int64_t i : in.outputs)
        ++writes[slotOf(i)];
  }

  /// Whether a buffer can be a view of an argument: a result has memory of its
  /// own, and nothing else may write to the argument's.
  bool mayAlias(int64_t buffer) const {
    return function->buffers[buffer].kind == ProgramBuffer::Kind::Arena &&
           writes[buffer] == 1;
  }

  BoundStep newStep(BoundStep::Kind kind, const Instruction &in,
                    int64_t number) const {
    BoundStep step;
    step.kind = kind;
    step.instruction = &in;
    step.number = number;
    for (int64_t i : in.inputs)
      step.inputs.push_back(slotOf(i));
    for (int64_t i : in.outputs)
      step.outputs.push_back(slotOf(i));
    return step;
  }

  void bindInstruction(const Instruction &in, int64_t number) {
    switch (in.kind) {
    case Instruction::Kind::Launch:
      if (indexIn(typeOf(in.outputs[0])))
        bindLaunch(in, number);
      return;
    case Instruction::Kind::Communicate:
      if (indexIn(typeOf(in.inputs[0])) || indexIn(typeOf(in.outputs[0])))
        bindCommunicate(in, number);
      return;
    case Instruction::Kind::Copy:
      if (std::optional<int64_t> index = indexIn(typeOf(in.outputs[0]))) {
        BoundStep step = newStep(BoundStep::Kind::Copy, in, number);
        const BufferType &type = typeOf(in.outputs[0]);
        step.bytes = type.boxOf(*index).numElements() * itemSize(type.dtype);
        result->steps.push_back(std::move(step));
      }
      return;
    case Instruction::Kind::Call:
      BoundFunction *callee = bound.functions[in.callee].get();
      if (callee->steps.empty())
        return;
      BoundStep step = newStep(BoundStep::Kind::Call, in, number);
      step.callee = callee;
      result->steps.push_back(std::move(step));
      return;
    }
  }

  TensorSpec specOf(int64_t buffer) const {
    const BufferType &type = typeOf(buffer);
    return {type.dtype, type.shape, type.boxOf(*indexIn(type))};
  }

  void bindLaunch(const Instruction &in, int64_t number) {
    BoundStep step = newStep(BoundStep::Kind::Launch, in, number);
    KernelSpec spec{{}, {}, in.attrs};
    for (int64_t i : in.inputs)
      spec.inputs.push_back(specOf(i));
    for (int64_t i : in.outputs)
      spec.outputs.push_back(specOf(i));
    step.kernel = lookupKernel(in.name)(spec);
    step.inputData.resize(in.inputs.size());
    step.outputData.resize(in.outputs.size());
    addReplicaCheck(step, in, number);
    result->steps.push_back(std::move(step));
  }

  CommunicationSpec communicationOf(const Instruction &in,
                                    int64_t number) const {
    return {in.name, typeOf(in.inputs[0]), typeOf(in.outputs[0]),
            in.axes, in.location,          firstNumber + number};
  }

  void bindCommunicate(const Instruction &in, int64_t number) {
    bool fromHost = in.name == "from_host";
    BoundStep step = newStep(fromHost ? BoundStep::Kind::FromHost
                                      : BoundStep::Kind::Communicate,
                             in, number);
    CommunicationSpec spec = communicationOf(in, number);
    step.communication = communicator.bind(spec, device);
    if (in.name == "to_host" && device != hostDevice)
      computeInPlace(step, planCommunication(spec, *indexIn(spec.from)));
    if (fromHost && device != hostDevice) {
      step.plan = planCommunication(spec, *indexIn(spec.to));
      if (mayAlias(step.outputs[0]))
        step.alias = step.plan.hostAlias();
    }
    addReplicaCheck(step, in, number);
    result->steps.push_back(std::move(step));
  }

  /// Lets a value of the arena that goes to a host result as one block be
  /// computed in that result. It must be written once: a second value would
  /// change the result.
  void computeInPlace(const BoundStep &step, const CommunicationPlan &plan) {
    bool isEntry = function == &program.entry();
    int64_t slot = step.inputs[0], target = step.outputs[0];
    auto arenaSlot =
        std::find_if(result->arenaSlots.begin(), result->arenaSlots.end(),
                     [slot](const auto &entry) { return entry.first == slot; });
    if (!isEntry || writes[slot] != 1 || plan.hostPlace() < 0 ||
        function->buffers[target].kind != ProgramBuffer::Kind::Result ||
        arenaSlot == result->arenaSlots.end())
      return;
    result->arenaSlots.erase(arenaSlot);
    result->inPlace.push_back({slot, target, plan.hostPlace()});
  }

  void addReplicaCheck(BoundStep &step, const Instruction &in, int64_t number) {
    const BufferType &type = typeOf(in.outputs[0]);
    if (!checkReplicas || type.sharding.isHost() || device == hostDevice)
      return;
    CommunicationSpec spec{in.name, type,        type,
                           {},      in.location, firstNumber + number};
    step.replicaCheck = communicator.bindReplicaCheck(spec, device);
  }

  const Program &program;
  BoundProgram &bound;
  Communicator &communicator;
  const bool checkReplicas;
  const int64_t device;
  const ProgramFunction *function = nullptr;
  BoundFunction *result = nullptr;
  std::vector<int64_t> writes; ///< by buffer, in the function at hand
  int64_t firstNumber = 0; ///< numbers instructions through the whole program
};

} // namespace

BoundProgram bindProgram(const Program &program, int64_t device,
                         Communicator &communicator, bool checkReplicas) {
  BoundProgram bound{device, {}};
  Binder binder(program, bound, communicator, checkReplicas);
  for (size_t i = 0; i < program.functions.size(); ++i)
    binder.bind(i);
  return bound;
}

Error locate(const Error &error, const ProgramFunction &function,
             int64_t number, int64_t device) {
  const Instruction &in = function.instructions[number];
  std::string note =
      "\n  note: on " +
      (device == hostDevice ? std::string("the host")
                            : "device " + std::to_string(device)) +
      ", instruction " + std::to_string(number) + " (" +
      (in.name.empty() ? "copy" : in.name) + ") of '" + function.name + "'";
  std::string place = in.location.empty() ? "" : in.location + ": error: ";
  return Error(place + error.what() + note, error.kind);
}

} // namespace dtorch
