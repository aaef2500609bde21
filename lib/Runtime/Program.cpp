//===- Program.cpp - checks of programs -----------------------------------===//
#include "dtorch/Runtime/Program.h"

#include "dtorch/Runtime/Comm/CommunicationPlan.h"
#include "dtorch/Support/Error.h"

#include <set>

namespace dtorch {

namespace {

using Kind = ProgramBuffer::Kind;

class Verifier {
public:
  explicit Verifier(const Program &program) : program(program) {}

  void verify() {
    if (program.functions.empty())
      throw Error("program: has no function");
    for (size_t i = 0; i < program.functions.size(); ++i) {
      number = i;
      function = &program.functions[i];
      verifyFunction();
    }
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    std::string text = "program: function '" + function->name + "'";
    if (instruction >= 0) {
      const Instruction &in = function->instructions[instruction];
      text += ", instruction " + std::to_string(instruction);
      text += in.name.empty() ? "" : " (" + in.name + ")";
      text += in.location.empty() ? "" : " at " + in.location;
    }
    throw Error(text + ": " + what);
  }

  void check(bool good, const std::string &what) const {
    if (!good)
      fail(what);
  }

  static std::string bufferName(int64_t i) {
    return "buffer " + std::to_string(i);
  }

  void verifyFunction() {
    instruction = -1;
    written.assign(function->buffers.size(), false);
    check(function->arenaBytes >= 0,
          "has an arena of " + std::to_string(function->arenaBytes) + " bytes");
    std::set<int64_t> arguments, results;
    for (size_t i = 0; i < function->buffers.size(); ++i)
      verifyBuffer(i, arguments, results);
    check(arguments.size() == function->arguments.size() &&
              (arguments.empty() || *arguments.rbegin() + 1 ==
                                        static_cast<int64_t>(arguments.size())),
          "has " + std::to_string(function->arguments.size()) +
              " arguments and buffers for " + std::to_string(arguments.size()));
    check(results.empty() ||
              *results.rbegin() + 1 == static_cast<int64_t>(results.size()),
          "result buffers are numbered from 0 without gaps");
    for (size_t i = 0; i < function->instructions.size(); ++i) {
      instruction = i;
      verifyInstruction(function->instructions[i]);
    }
    instruction = -1;
    for (size_t i = 0; i < function->buffers.size(); ++i)
      check(function->buffers[i].kind != Kind::Result || isWritten(i),
            bufferName(i) + " is a result that is never written");
  }

  void verifyBuffer(int64_t i, std::set<int64_t> &arguments,
                    std::set<int64_t> &results) const {
    const ProgramBuffer &buffer = function->buffers[i];
    check(buffer.type.sharding.mesh != nullptr, bufferName(i) + " has no mesh");
    buffer.type.sharding.verify(buffer.type.shape);
    int64_t bytes = buffer.type.maxLocalBytes();
    switch (buffer.kind) {
    case Kind::Argument:
      check(arguments.insert(buffer.index).second && buffer.index >= 0,
            bufferName(i) + " is argument " + std::to_string(buffer.index) +
                ", which another buffer is, too");
      return;
    case Kind::Result:
      check(results.insert(buffer.index).second && buffer.index >= 0,
            bufferName(i) + " is result " + std::to_string(buffer.index) +
                ", which another buffer is, too");
      return;
    case Kind::Arena:
      check(fits(buffer.offset, bytes),
            bufferName(i) + " (" + std::to_string(bytes) + " bytes at " +
                std::to_string(buffer.offset) +
                ") does not lie aligned to 64 in the " + "arena of " +
                std::to_string(function->arenaBytes) + " bytes");
      return;
    case Kind::Alias: {
      check(buffer.index >= 0 &&
                buffer.index < static_cast<int64_t>(function->buffers.size()),
            bufferName(i) + " is an alias of no buffer");
      const BufferType &source = function->buffers[buffer.index].type;
      check(sameMesh(source.sharding.mesh, buffer.type.sharding.mesh),
            bufferName(i) + " is an alias of a buffer on another mesh");
      for (int64_t d = 0; d < source.sharding.mesh->numDevices(); ++d)
        check(buffer.type.boxOf(d).numElements() *
                      itemSize(buffer.type.dtype) ==
                  source.boxOf(d).numElements() * itemSize(source.dtype),
              bufferName(i) + " is an alias of " + bufferName(buffer.index) +
                  ", which has another size");
      rootOf(i);
      return;
    }
    }
    fail(bufferName(i) + " has an unknown kind");
  }

  /// Whether a range lies in the arena, aligned.
  bool fits(int64_t offset, int64_t bytes) const {
    return offset >= 0 && offset % 64 == 0 && offset <= function->arenaBytes &&
           bytes <= function->arenaBytes - offset;
  }

  int64_t rootOf(int64_t i) const {
    size_t steps = 0;
    while (function->buffers[i].kind == Kind::Alias) {
      i = function->buffers[i].index;
      check(++steps <= function->buffers.size(), "aliases go in a circle");
    }
    return i;
  }

  bool isWritten(int64_t i) const {
    int64_t root = rootOf(i);
    return function->buffers[root].kind == Kind::Argument || written[root];
  }

  void verifyInstruction(const Instruction &in) {
    for (const auto *list : {&in.inputs, &in.outputs})
      for (int64_t i : *list)
        check(i >= 0 && i < static_cast<int64_t>(function->buffers.size()),
              "names " + bufferName(i) + " of " +
                  std::to_string(function->buffers.size()));
    for (int64_t i : in.inputs)
      check(isWritten(i), bufferName(i) + " is read before it is written");
    for (int64_t i : in.outputs)
      check(function->buffers[rootOf(i)].kind != Kind::Argument,
            bufferName(i) + " is an argument, which is read only");
    for (int64_t from : in.inputs)
      for (int64_t to : in.outputs)
        check(!overlap(rootOf(from), rootOf(to)),
              bufferName(to) + " overlaps " + bufferName(from) +
                  ", which the instruction reads");
    switch (in.kind) {
    case Instruction::Kind::Launch:
      verifyLaunch(in);
      break;
    case Instruction::Kind::Communicate:
      check(in.inputs.size() == 1 && in.outputs.size() == 1,
            "has one input and one output");
      try {
        verifyCommunication({in.name, typeOf(in.inputs[0]),
                             typeOf(in.outputs[0]), in.axes, in.location,
                             instruction});
      } catch (const Error &error) {
        fail(error.what());
      }
      break;
    case Instruction::Kind::Copy:
      check(in.inputs.size() == 1 && in.outputs.size() == 1,
            "has one input and one output");
      check(typeOf(in.inputs[0]) == typeOf(in.outputs[0]),
            "copies between buffers of one type, found " +
                typeOf(in.inputs[0]).str() + " and " +
                typeOf(in.outputs[0]).str());
      break;
    case Instruction::Kind::Call:
      verifyCall(in);
      break;
    }
    for (int64_t i : in.outputs)
      written[rootOf(i)] = true;
  }

  /// Whether two buffers (no aliases) share memory. The host and each device
  /// have arenas of their own.
  bool overlap(int64_t a, int64_t b) const {
    const ProgramBuffer &x = function->buffers[a], &y = function->buffers[b];
    if (a == b)
      return x.type.maxLocalBytes() > 0;
    if (x.kind != Kind::Arena || y.kind != Kind::Arena ||
        x.type.sharding.isHost() != y.type.sharding.isHost())
      return false;
    int64_t xBytes = x.type.maxLocalBytes(), yBytes = y.type.maxLocalBytes();
    return xBytes && yBytes && x.offset < y.offset + yBytes &&
           y.offset < x.offset + xBytes;
  }

  const BufferType &typeOf(int64_t i) const {
    return function->buffers[i].type;
  }

  void verifyLaunch(const Instruction &in) const {
    check(in.outputs.size() == 1, "has one output");
    const MeshRef &mesh = typeOf(in.outputs[0]).sharding.mesh;
    for (int64_t i : in.inputs)
      check(sameMesh(typeOf(i).sharding.mesh, mesh),
            bufferName(i) + " lies on another mesh than the output");
  }

  void verifyCall(const Instruction &in) const {
    check(in.callee >= 0 && in.callee < static_cast<int64_t>(number),
          "calls function " + std::to_string(in.callee) +
              ", which does not stand before it");
    const ProgramFunction &callee = program.functions[in.callee];
    check(fits(in.offset, callee.arenaBytes),
          "the arena of '" + callee.name + "' (" +
              std::to_string(callee.arenaBytes) + " bytes at " +
              std::to_string(in.offset) + ") does not lie in its own (" +
              std::to_string(function->arenaBytes) + ")");
    verifyPassed(callee, Kind::Argument, in.inputs, "argument");
    verifyPassed(callee, Kind::Result, in.outputs, "result");
  }

  void verifyPassed(const ProgramFunction &callee, Kind kind,
                    const std::vector<int64_t> &passed,
                    const char *what) const {
    size_t count = 0;
    for (const ProgramBuffer &buffer : callee.buffers) {
      if (buffer.kind != kind)
        continue;
      ++count;
      check(buffer.index < static_cast<int64_t>(passed.size()),
            "passes " + std::to_string(passed.size()) + " " + what + "s, '" +
                callee.name + "' has more");
      const BufferType &type = typeOf(passed[buffer.index]);
      check(type == buffer.type, std::string(what) + " " +
                                     std::to_string(buffer.index) + " of '" +
                                     callee.name + "' is " + buffer.type.str() +
                                     ", found " + type.str());
    }
    check(count == passed.size(), "passes " + std::to_string(passed.size()) +
                                      " " + what + "s, '" + callee.name +
                                      "' has " + std::to_string(count));
  }

  const Program &program;
  const ProgramFunction *function = nullptr;
  int64_t number = 0, instruction = -1;
  std::vector<bool> written;
};

} // namespace

void verify(const Program &program) { Verifier(program).verify(); }

} // namespace dtorch
