//===- Rules.h - C++ placement rules ----------------------------*- C++ -*-===//
//
// Ops whose rule depends on attributes or shapes build a BoundRule here, one
// file per family. Which functions there are follows from the ODS definitions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Ops/Placing.h"

namespace dtorch {

#define GET_RULE_FUNCTIONS
#include "dtorch/Ops/OpTable.inc"
#undef GET_RULE_FUNCTIONS

/// Throws "subject: message".
[[noreturn]] void failCall(const OpCall &call, const std::string &message,
                           ErrorKind kind = ErrorKind::Value);

/// Checks number and element types of operands, and presence and type of
/// attributes.
void checkCall(const OpCall &call);

/// Element type of the result; `rule` is one of "same", "bool", …
DType resultDType(const OpCall &call, std::string_view rule);

/// "dim must be in [0, 3), got 3" (an IndexError).
void checkDim(const OpCall &call, std::string_view what, int64_t dim,
              int64_t rank);

/// A list attribute of one number per dim; checks its length.
const std::vector<int64_t> &perDim(const OpCall &call, std::string_view name,
                                   size_t rank);

/// An attribute `shape`; checks that sizes are at least 0.
Shape shapeAttr(const OpCall &call);

/// Bounds of slice and slice_update; the shape of what they take.
Shape checkSlices(const OpCall &call);

/// Whether a slice takes dim `d` in full.
bool takesAll(const OpCall &call, size_t d);

/// A rule under construction: operand shapes filled in, no dim shards yet.
class RuleBuilder {
public:
  explicit RuleBuilder(const OpCall &call);

  int64_t addFactor(std::string name, int64_t size);
  void setOperand(size_t operand, size_t dim, int64_t factor,
                  int64_t granule = 1) {
    rule.operands[operand][dim] = {factor, granule};
  }
  void setResult(size_t dim, int64_t factor, int64_t granule = 1) {
    rule.results[0][dim] = {factor, granule};
  }
  void setResultShape(Shape shape);
  /// A dim that is read at positions: a shard leaves the sum pending.
  void addRead(size_t operand, size_t dim);
  /// All operands together may be pending, in every kind given.
  void passPending(std::initializer_list<ReduceKind> kinds);
  /// The same for some operands.
  void passPending(std::initializer_list<ReduceKind> kinds,
                   std::vector<int64_t> operands);
  BoundRule take() { return std::move(rule); }

  BoundRule rule;
};

} // namespace dtorch
