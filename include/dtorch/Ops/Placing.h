//===- Placing.h - where an op's operands must lie ------------------------===//
//
// Recording and the passes ask the same question here, so that they cannot
// answer it differently.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Ops/OpTable.h"

#include <optional>

namespace dtorch {

/// What users call the op: its kind if it has kinds, else its name.
std::string_view subjectOf(const OpCall &call);

/// Name of operand i in messages: "weight", "inputs[2]".
std::string operandName(const OpCall &call, size_t i);

/// A call with what its operands are now, and what its rule wants them to be.
struct Placing {
  OpCall call;
  BoundRule rule;
  std::vector<Sharding> held;   ///< of the operands, host ones included
  std::vector<Sharding> joined; ///< host operands replicated on the mesh
  /// For `joined`. Nothing if communication is not allowed and needed.
  std::optional<RowChoice> choice;
};

/// Chooses rows for a call whose operands have shardings in normal form.
/// Operands on the host join the mesh of the others as replicated. In strict
/// mode only changes without communication count. Throws Error for operands
/// that do not fit, and (Placement) for operands on two meshes with devices.
Placing placeCall(OpCall call, std::vector<Sharding> held, bool strict);

/// "lhs [S(0), R], rhs on the host".
std::string placementsText(const OpCall &call,
                           std::span<const Sharding> shardings);

/// "(S(0), R -> S(0)) (R, R -> R)": the rows for one mesh axis.
std::string legalRowsText(const BoundRule &rule);

/// The strict error without its subject and notes: what must be, and what is.
std::string noRowText(const Placing &placing);

} // namespace dtorch
