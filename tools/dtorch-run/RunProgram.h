//===- RunProgram.h - a program on whole host tensors ---------------------===//
#pragma once

#include "HostTensor.h"

#include "dtorch/Runtime/Program.h"

namespace dtorch {

/// Global types of the entry's arguments, by name.
std::map<std::string, TensorType> argumentTypes(const Program &program);

/// Runs the program on its arguments by name, and gives its results by name.
/// Throws Error for arguments that are missing or have another type.
HostTensors runProgram(Program program, const HostTensors &arguments);

} // namespace dtorch
