//===- CompileCapture.h - a capture becomes a program ---------------------===//
#pragma once

#include "dtorch/Graph/Capture.h"
#include "dtorch/Runtime/Program.h"

namespace dtorch {

/// Lowers a capture through every phase. `dumpDir` is empty or the folder for
/// the phases. Throws Error with the diagnostics of the passes, and an internal
/// one if they infer another place for a result than recording did.
Program compileCapture(const Capture &capture, const std::string &dumpDir);

/// Writes the inputs that are not parameters under their argument names.
void writeInputs(const Capture &capture, const std::string &path);

/// Ops that passes have worked on in this process (Dialect/Transforms/Passes.h,
/// declared here for files without MLIR).
int64_t passWork();

} // namespace dtorch
