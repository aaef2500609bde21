//===- Inference.h - what recording infers for an op ----------------------===//
#pragma once

#include "dtorch/Graph/Node.h"

namespace dtorch {

/// Type and place of an op's result, by the code that the passes use. Equal
/// questions share one answer, kept in a bounded cache. Throws Error for
/// operands that do not fit, and in strict mode for operands that match no row
/// without communication.
OpUseRef inferUse(const OpInfo &op, std::vector<ValueTypeRef> operands,
                  Attrs attrs, bool strict);

} // namespace dtorch
