//===- Program.h - what the executor runs ---------------------------------===//
//
// A program is data: functions of instructions over planned buffers, the same
// list for every device. It is rank-agnostic: buffers have global shapes and a
// sharding, and a rank's sizes, offsets and peers follow from its coordinates
// through the shard law when it loads the program.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Runtime/Storage.h"
#include "dtorch/Support/Attrs.h"

#include <string>
#include <vector>

namespace dtorch {

/// A buffer of a function.
struct ProgramBuffer {
  enum class Kind : uint8_t {
    Argument, ///< `index`-th argument (read only)
    Result,   ///< `index`-th result, memory given by the caller
    Arena,    ///< `offset` bytes into the function's arena
    Alias,    ///< the memory of buffer `index` under another type
  };
  Kind kind;
  int64_t index = 0;
  int64_t offset = 0;
  BufferType type;
};

/// One instruction; operands are buffer numbers of its function.
struct Instruction {
  enum class Kind : uint8_t {
    Launch,      ///< kernel `name` with `attrs`
    Communicate, ///< step `name` over mesh axes `axes`: all_reduce, all_gather,
                 ///< reduce_scatter, all_to_all, exchange, slice, mask,
                 ///< from_host, to_host
    Copy,        ///< one buffer to another of the same type
    Call,        ///< function number `callee`, its arena at `offset` of ours
  };
  Kind kind;
  std::string name;
  std::vector<int64_t> inputs, outputs;
  Attrs attrs;
  std::vector<int64_t> axes;
  int64_t callee = -1;
  int64_t offset = 0;
  std::string location;   ///< "model.py:17", empty if unknown
  std::string modulePath; ///< call sites: "model.layers.0"
};

struct ProgramArgument {
  std::string name; ///< parameter or input name; empty inside functions
  bool parameter = false;
};

struct ProgramFunction {
  std::string name;
  std::vector<ProgramArgument> arguments;
  std::vector<std::string> resultNames; ///< entry only; may be empty strings
  std::vector<ProgramBuffer> buffers; ///< any order; Argument/Result cover all
  std::vector<Instruction> instructions;
  int64_t arenaBytes = 0; ///< its own buffers and everything it calls
};

/// The entry is functions.back(); callees stand before their callers.
struct Program {
  std::vector<ProgramFunction> functions;
  const ProgramFunction &entry() const { return functions.back(); }
};

/// Checks numbers, kinds, types and arena bounds of every instruction; throws
/// Error naming function and instruction. The executor calls it at load.
void verify(const Program &program);

} // namespace dtorch
