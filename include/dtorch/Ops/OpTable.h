//===- OpTable.h - what each compute op means -----------------------------===//
//
// The table is generated from the ODS definitions (ComputeOps.td), so an op is
// described in one place. Recording (Graph), the dialect's verifiers and the
// passes all ask this table; nothing here needs MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Sharding/PlacementRule.h"
#include "dtorch/Support/Attrs.h"
#include "dtorch/Support/DType.h"
#include "dtorch/Support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace dtorch {

/// Global shape and element type.
struct TensorType {
  Shape shape;
  DType dtype = DType::Float32;
  bool operator==(const TensorType &) const = default;
  /// "f32[2, 3]" in messages.
  std::string str() const;
};

struct OpInfo;

/// An op applied to operand types: all that shape, dtype and placement
/// inference need.
struct OpCall {
  const OpInfo *op = nullptr;
  std::vector<TensorType> operands;
  Attrs attrs;
};

/// Builds the rule of an op whose rule depends on attributes or shapes. Throws
/// Error for operands that do not fit.
using RuleFunction = BoundRule (*)(const OpCall &);

enum class AttrType : uint8_t { Bool, Int, Float, String, Ints, DType };

struct AttrInfo {
  std::string_view name;
  AttrType type;
};

/// One value of the `kind` attribute of a generic op (add of binary, …).
struct KindInfo {
  std::string_view name;
  PlacementRule rule;
  std::string_view resultDType;
};

/// How the result's element type follows: "same" (that of operand 0), "bool",
/// "int64", "float" (operand 0 if floating, else float32), "last" (that of the
/// last operand), "attr" (attribute `dtype`).
struct OpInfo {
  std::string_view name; ///< mnemonic: "linear"
  std::string_view summary;
  int64_t minOperands, maxOperands;           ///< maxOperands -1: any number
  std::vector<std::string_view> operandNames; ///< for messages
  std::string_view operandDTypes; ///< see Dtorch_ComputeOp in ComputeOps.td
  std::vector<AttrInfo> attrs;
  std::string_view resultDType;
  PlacementRule rule;                  ///< when neither kinds nor function
  std::vector<KindInfo> kinds;         ///< by attribute `kind`
  RuleFunction ruleFunction = nullptr; ///< C++ rule
};

/// The op of that mnemonic; null if there is none.
const OpInfo *lookupOp(std::string_view name);
/// Every compute op in ODS order.
const std::vector<OpInfo> &allOps();

/// The rule of a call with its sizes; result shapes are in it. Checks number
/// and element types of operands and attributes first.
BoundRule bindRule(const OpCall &call);

/// Result types of a call (today every compute op has one result).
std::vector<TensorType> inferTypes(const OpCall &call);

} // namespace dtorch
