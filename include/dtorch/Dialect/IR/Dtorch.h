//===- Dtorch.h - the dialect, its attributes, types and interfaces -------===//
#pragma once

#include "dtorch/Ops/OpTable.h"
#include "dtorch/Sharding/RedistributePlan.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace dtorch {
/// Hashes by contents, as sameMesh compares; found by LLVM's hash_combine.
llvm::hash_code hash_value(const MeshRef &mesh);
llvm::hash_code hash_value(const Placement &placement);
} // namespace dtorch

#include "dtorch/Dialect/IR/DtorchDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dtorch/Dialect/IR/DtorchAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dtorch/Dialect/IR/DtorchTypes.h.inc"

#include "dtorch/Dialect/IR/DtorchInterfaces.h.inc"

namespace dtorch {

/// Names of the dialect's attributes on other dialects' ops.
inline constexpr llvm::StringLiteral kPhaseAttr = "dtorch.phase";
inline constexpr llvm::StringLiteral kStrictAttr = "dtorch.strict";
inline constexpr llvm::StringLiteral kNameAttr = "dtorch.name";
inline constexpr llvm::StringLiteral kParameterAttr = "dtorch.parameter";
inline constexpr llvm::StringLiteral kModuleAttr = "dtorch.module";
inline constexpr llvm::StringLiteral kMemoryAttr = "dtorch.memory";
inline constexpr llvm::StringLiteral kArenaAttr = "dtorch.arena";
inline constexpr llvm::StringLiteral kArenaBytesAttr = "dtorch.arena_bytes";

} // namespace dtorch
