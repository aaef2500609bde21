//===- Conversions.h - between MLIR and the plain data types --------------===//
#pragma once

#include "dtorch/Dialect/IR/Dtorch.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace dtorch {

/// The element type of that MLIR type; nullopt if dtorch has none.
std::optional<DType> tryDType(mlir::Type type);
/// The same; throws Error (Type).
DType toDType(mlir::Type type);
mlir::Type toMLIR(mlir::MLIRContext *context, DType dtype);

/// Attributes of ops: bool, i64, f64, string, array<i64>.
mlir::Attribute toMLIR(mlir::MLIRContext *context, const AttrValue &value);
/// The inverse; throws Error (Type) for other attributes.
AttrValue toAttrValue(mlir::Attribute attribute);
mlir::DictionaryAttr toMLIR(mlir::MLIRContext *context, const Attrs &attrs);
Attrs toAttrs(mlir::DictionaryAttr dictionary);

/// `tensor<4x8xf32>`: not yet placed.
mlir::RankedTensorType unplacedType(mlir::MLIRContext *context,
                                    const TensorType &type);
/// `tensor<4x8xf32, #S>`: the global shape, with a sharding.
mlir::RankedTensorType placedType(mlir::MLIRContext *context,
                                  const TensorType &type,
                                  const Sharding &sharding);
/// `tensor<?x8xf32, #dtorch.local<[3, 8], #S>>`.
mlir::RankedTensorType localType(mlir::MLIRContext *context,
                                 const TensorType &type,
                                 const Sharding &sharding);

/// Global shape and element type of a tensor type of any phase; throws Error.
TensorType globalType(mlir::Type type);
/// The sharding of a tensor type of any phase; null before it is placed.
ShardingAttr shardingAttr(mlir::Type type);
inline ShardingAttr shardingAttr(mlir::Value value) {
  return shardingAttr(value.getType());
}
/// Whether the type is a local one.
bool isLocalType(mlir::Type type);

/// The call that a compute op makes; throws Error.
OpCall makeOpCall(mlir::Operation *op);

/// Builds the compute op of that mnemonic.
mlir::Operation *createComputeOp(mlir::OpBuilder &builder,
                                 mlir::Location location, llvm::StringRef name,
                                 mlir::ValueRange operands, const Attrs &attrs,
                                 mlir::Type result);

/// "model.py:17" of a location; empty when it is unknown.
std::string locationStr(mlir::Location location);
/// The inverse, for program text.
mlir::Location parseLocation(mlir::MLIRContext *context, llvm::StringRef text);

} // namespace dtorch
