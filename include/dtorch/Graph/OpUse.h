//===- OpUse.h - an op on operands of given types and places --------------===//
//
// Values of one type and place share one ValueType, and nodes that record the
// same share one OpUse: equal means the same object. What is asked at every
// recorded op, and for the structure of a program, is a comparison of pointers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Ops/OpTable.h"
#include "dtorch/Support/Ref.h"

namespace dtorch {

/// Global type and place of a value.
struct ValueType : Counted<ValueType> {
  TensorType tensor;
  Sharding written; ///< as the user or a layer wrote it
  Sharding normal;  ///< the normal form that rules and IR see
  bool pending;     ///< whether `normal` has a pending axis

  /// The one object for these contents.
  static Ref<const ValueType> get(TensorType tensor, Sharding written,
                                  Sharding normal);
  /// Of a 0-dim host value.
  static Ref<const ValueType> scalar(DType dtype);

private:
  friend class Counted<ValueType>;
  friend class ValueTypeTable;
  ValueType(TensorType tensor, Sharding written, Sharding normal, size_t hash);
  void destroy() const;
  size_t hash;
};
using ValueTypeRef = Ref<const ValueType>;

/// An op on operands, with what follows from them.
struct OpUse : Counted<OpUse> {
  const OpInfo *op;
  Attrs attrs;
  std::vector<ValueTypeRef> operands;
  bool strict;
  ValueTypeRef result;

private:
  friend class Counted<OpUse>;
  friend class OpUseTable;
  OpUse() = default;
  void destroy() const;
  size_t hash;
};
using OpUseRef = Ref<const OpUse>;

/// Type and place of an op's result, by the code that the passes use. Throws
/// Error for operands that do not fit, and in strict mode for operands that
/// match no row without communication.
OpUseRef inferUse(const OpInfo &op, std::vector<ValueTypeRef> operands,
                  Attrs attrs, bool strict);

} // namespace dtorch
