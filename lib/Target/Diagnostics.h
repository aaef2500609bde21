//===- Diagnostics.h - diagnostics become Errors and remarks --------------===//
#pragma once

#include "dtorch/Support/Error.h"

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace dtorch {

/// Collects a context's diagnostics while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// Throws an Error with all errors so far, one a line.
  [[noreturn]] void raise(ErrorKind kind) const;
  /// "model.py:17: remark: …", one an entry.
  const std::vector<std::string> &remarks() const { return remarkTexts; }

private:
  std::string errors;
  std::vector<std::string> remarkTexts;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace dtorch
