//===- ProgramOps.h - program functions, buffers, instructions ------------===//
#pragma once

#include "dtorch/Dialect/IR/Dtorch.h"

namespace dtorch {

/// The buffer op that a handle names.
class BufferOp;
BufferOp bufferOf(mlir::Value handle);
/// The buffer at the end of a chain of aliases.
BufferOp storageOf(BufferOp buffer);

/// Bytes that a buffer takes in an arena: those of its largest local part,
/// rounded up to kBufferAlignment.
int64_t arenaBytes(ProgramBufferType type);
inline constexpr int64_t kBufferAlignment = 64;

} // namespace dtorch

#define GET_OP_CLASSES
#include "dtorch/Dialect/IR/ProgramOps.h.inc"
