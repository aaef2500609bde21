//===- PlanSteps.h - validity and cost of redistribute steps ----*- C++ -*-===//
#pragma once

#include "dtorch/Sharding/RedistributePlan.h"

namespace dtorch::plan_steps {

/// Why a change may not be made, or null.
using Problem = const char *;

/// Checks a step whose shardings are in normal form on one mesh.
Problem checkStep(StepKind kind, std::span<const int64_t> axes,
                  const Sharding &from, const Sharding &to,
                  std::span<const int64_t> shape);

/// The axes over which boxes must move for an exchange from -> to: those of
/// each dim from the first place on where the two splits differ.
std::vector<int64_t> exchangeAxes(const Sharding &from, const Sharding &to,
                                  std::span<const int64_t> shape);

/// Elements that the busiest device lacks of its target box. Pending axes hold
/// whole boxes. No plan moves less.
int64_t missingElements(const Sharding &from, const Sharding &to,
                        std::span<const int64_t> shape);

/// Elements that the busiest device receives in a valid step.
int64_t busiestElements(StepKind kind, std::span<const int64_t> axes,
                        const Sharding &from, const Sharding &to,
                        std::span<const int64_t> shape);

/// Why no plan exists, or null: P(max) and P(min) cannot be made, and one
/// reduction does not become another.
Problem checkChange(const Sharding &from, const Sharding &to);

} // namespace dtorch::plan_steps
