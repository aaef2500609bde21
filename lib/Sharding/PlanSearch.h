//===- PlanSearch.h - the cheapest sequence of steps ------------*- C++ -*-===//
#pragma once

#include "dtorch/Sharding/RedistributePlan.h"

namespace dtorch::plan_steps {

/// The cheapest steps between two shardings in normal form, costs in elements.
/// Requires that checkChange finds no problem.
RedistributePlan searchPlan(const Sharding &from, const Sharding &to,
                            std::span<const int64_t> shape);

} // namespace dtorch::plan_steps
