//===- CastRule.cpp - cast ------------------------------------------------===//

#include "Rules.h"

using namespace dtorch;

/// Whether every value of `from` is a value of `to`, for floating types:
///   f32 -> f64        yes
///   bf16, f16 -> f32  yes
///   bf16 -> f16       no (range), and not back (digits)
static bool isWidening(DType from, DType to) { return promote(from, to) == to; }

BoundRule dtorch::castRule(const OpCall &call) {
  const Shape &shape = call.operands[0].shape;
  DType from = call.operands[0].dtype;
  DType to = parseDType(call.attrs.getString("dtype"));
  RuleBuilder builder(call);
  builder.setResultShape(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t factor = builder.addFactor("d" + std::to_string(d), shape[d]);
    builder.setOperand(0, d, factor);
    builder.setResult(d, factor);
  }
  // Rounding each part of a sum is not rounding the sum; it is monotone, so
  // maxima and minima pass.
  bool floats = isFloating(from) && isFloating(to);
  if (from == to || (floats && isWidening(from, to)))
    builder.passPending({ReduceKind::Sum});
  if (from == to || floats)
    builder.passPending({ReduceKind::Max, ReduceKind::Min});
  return builder.take();
}
