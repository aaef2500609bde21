//===- Diagnostics.cpp - diagnostics become Errors and remarks ------------===//

#include "Diagnostics.h"

#include "dtorch/Dialect/IR/Conversions.h"

using namespace mlir;
using namespace dtorch;

static StringRef severityText(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("all severities are listed");
}

/// "model.py:17: error: what\n  note: why".
static std::string textOf(Diagnostic &diagnostic) {
  std::string text = locationStr(diagnostic.getLocation());
  if (!text.empty())
    text += ": ";
  text += severityText(diagnostic.getSeverity());
  text += ": " + diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes())
    text += "\n  note: " + note.str();
  return text;
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors += (errors.empty() ? "" : "\n") + textOf(diagnostic);
        else
          remarkTexts.push_back(textOf(diagnostic));
        return success();
      }) {
  // The op at hand, its shardings spelt out, would hide what is said.
  context->printOpOnDiagnostic(false);
}

void DiagnosticCollector::raise(ErrorKind kind) const {
  throw Error(errors.empty() ? "error: failed without a diagnostic" : errors,
              kind);
}
