//===- Inputs.h - values from outside -------------------------------------===//
#pragma once

#include "dtorch/Graph/Node.h"

#include <variant>

namespace dtorch {

/// Checks that the mesh's devices exist here. Throws Error naming the variable
/// that sets their number.
void checkWorld(const DeviceMesh &mesh);

/// An input from dense row-major host memory, which it may keep (boxes that are
/// contiguous in it are not copied). It is cut by the shard law at once.
NodeRef makeInput(const StorageRef &global, TensorType type, Sharding sharding);

/// A Python number.
using Number = std::variant<bool, int64_t, double>;

/// A 0-dim host input. Throws Error (Value) for an integer that the element
/// type cannot hold.
NodeRef makeScalar(Number number, DType dtype);

/// An input of the type, name and role of `node`, one version later, with the
/// value of `source`; pieces are shared. Throws Error where the types differ or
/// the source has no value.
NodeRef assigned(const Node &node, const Node &source);

} // namespace dtorch
