//===- CollectiveOps.h - redistribute and its steps -----------------------===//
#pragma once

#include "dtorch/Dialect/IR/Dtorch.h"

namespace dtorch {

/// Checks a step op, on placed or local types, by stepProblem.
llvm::LogicalResult verifyStepOp(mlir::Operation *op);

/// Why `kind` ("all_reduce", …, "from_host", "to_host") over `axes` may not
/// take a tensor from one sharding to the other; empty if it may. Step ops and
/// program instructions share it.
std::string communicationProblem(llvm::StringRef kind,
                                 llvm::ArrayRef<int64_t> axes,
                                 const Sharding &from, const Sharding &to,
                                 std::span<const int64_t> shape);

/// The step kind of that name; nullopt if there is none.
std::optional<StepKind> parseStepKind(llvm::StringRef name);

} // namespace dtorch

#define GET_OP_CLASSES
#include "dtorch/Dialect/IR/CollectiveOps.h.inc"
