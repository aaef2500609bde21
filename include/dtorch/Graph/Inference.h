//===- Inference.h - what recording infers for an op ----------------------===//
#pragma once

#include "dtorch/Graph/Node.h"

namespace dtorch {

/// The shardings with which operands enter a rule: those on the host become
/// replicated on the mesh of the others. Throws Error (Placement) for operands
/// on two meshes with devices.
std::vector<Sharding> joinMesh(std::string_view subject,
                               std::span<const Sharding> operands);

/// Type and place of an op's result, by the code that the passes use. Equal
/// questions share one answer, kept in a bounded cache. Throws Error for
/// operands that do not fit, and in strict mode for operands that match no row
/// without communication.
OpUseRef inferUse(const OpInfo &op, std::vector<ValueTypeRef> operands,
                  Attrs attrs, bool strict);

/// "binary add": the op and its kind, for messages.
std::string describe(const OpInfo &op, const Attrs &attrs);

} // namespace dtorch
