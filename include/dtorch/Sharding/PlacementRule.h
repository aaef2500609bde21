//===- PlacementRule.h - how the dims of an op's tensors correspond -------===//
//
// A rule is data. Its text
//
//   "... m k, k n -> ... m n ; reduce: k=sum ; partial: sum(0) sum(1)"
//
// names factors per dim of each operand and result. `...` are leading batch
// dims, right-aligned and broadcast; `(h d)` is one dim made of two factors, h
// the major one. Clauses:
//
//   reduce: k=sum        sharding factor k leaves the result pending
//   whole: d             factor d stays unsharded
//   partial: sum(0 1)    operands 0 and 1 pending together give pending results
//   offset: v            factor v may shard, the kernel knows its shard's start
//                        (documentation of a need: the kernel sees its boxes)
//   select: h(1 2)       factor h may shard while operands 1 and 2 stay R: the
//                        kernel picks its part by position
//
// In `whole` and `reduce`, `[dims]` stands for the dims of operand 0 that the
// attribute `dims` (an int or a list of ints) names. Reduced ones are left out
// of the results, or kept with size 1 when the attribute `keepdim` is true;
// `[dim]=none` reduces a dim that is whole.
//
// Ops whose rule depends on attributes or shapes build a BoundRule in C++.
//
// A bound rule knows the sizes. It expands to rows: one placement per tensor
// for one mesh axis. Rows are relations between operands and results, so the
// same rows serve forward and backward inference, verification and the choice
// of the cheapest change.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Sharding/Sharding.h"
#include "dtorch/Support/Attrs.h"

#include <optional>
#include <string_view>

namespace dtorch {

/// A run of elements that corresponds across tensors. A dim of n indices that
/// refers to it with granule g covers n*g of its fine elements; sharded dims
/// correspond if their boundaries agree in fine elements.
struct Factor {
  std::string name;
  int64_t size = 0;                    ///< in fine elements
  bool whole = false;                  ///< must stay unsharded
  std::optional<ReduceKind> reduce;    ///< absent from results: left pending
  std::vector<int64_t> selectOperands; ///< operands that may stay R
};

/// The factor by which a dim shards.
struct DimFactor {
  int64_t factor = -1; ///< -1: never shards (size-1 broadcast, minor factors)
  int64_t granule = 1; ///< fine elements of the factor per index of the dim
  bool operator==(const DimFactor &) const = default;
};

/// Tensors that may be pending together; the results then are pending too.
struct PartialClause {
  ReduceKind kind = ReduceKind::Sum;
  std::vector<int64_t> operands;
};

/// One row: a placement per operand and per result on one mesh axis. Shard
/// placements carry no unit here; a unit in fine elements goes with the factor.
struct Row {
  std::vector<Placement> operands, results;
  int64_t factor = -1; ///< the sharded factor; -1 for R and partial rows
  bool operator==(const Row &) const = default;
};

/// A rule with its sizes.
struct BoundRule {
  std::vector<Factor> factors;
  std::vector<std::vector<DimFactor>> operands, results; ///< [tensor][dim]
  std::vector<PartialClause> partials;
  std::vector<Shape> operandShapes, resultShapes;

  /// All rows for an axis, in a fixed order: all R, then the factors in order
  /// (a select factor gives a row with the operands sharded, then one with
  /// them R), then the partial clauses.
  std::vector<Row> rows() const;
};

/// A parsed rule text; parsed once per op and kept.
class PlacementRule {
public:
  /// Throws Error naming the text and the mistake (unknown clause, unknown
  /// factor, a factor twice in one tensor, unbalanced parentheses, …).
  static PlacementRule parse(std::string_view text);

  /// Binds sizes: checks ranks and that sizes of one factor agree (a size-1
  /// dim broadcasts only under `...`), and computes result shapes. `subject`
  /// begins the messages, `names` names the operands in them. `factorSizes`
  /// gives sizes of factors that no operand determines (the d of a split
  /// `(h d) -> h d`); `attrs` those of `[dims]` targets.
  BoundRule
  bind(std::string_view subject, std::span<const Shape> operandShapes,
       std::span<const std::pair<std::string, int64_t>> factorSizes = {},
       const Attrs &attrs = {},
       std::span<const std::string_view> names = {}) const;

  struct Term { ///< one dim: factor indices, major first; empty means `...`
    std::vector<int64_t> factors;
    bool batch = false;
  };
  std::vector<std::vector<Term>> operands, results;
  std::vector<std::string> factorNames;
  std::vector<bool> whole;
  std::vector<std::optional<ReduceKind>> reduce;
  std::vector<std::vector<int64_t>> select;
  std::vector<PartialClause> partials;
  std::vector<std::string> wholeAttrs; ///< `[dims]` targets
  std::vector<std::pair<std::string, std::optional<ReduceKind>>> reduceAttrs;
  std::string text;
};

/// Whether the shardings (all on one mesh, normal form) match one row on every
/// axis, with boundaries that agree on every device.
bool matches(const BoundRule &rule, std::span<const Sharding> operands,
             std::span<const Sharding> results);

/// Cost of changes, compared in this order; integers only.
struct Cost {
  int64_t bytes = 0;       ///< received by the busiest device
  int64_t collectives = 0; ///< steps that communicate
  int64_t changed = 0;     ///< operands changed
  int64_t row = 0;         ///< combined row index
  auto operator<=>(const Cost &) const = default;
};

/// The row picked for an op: the sharding each operand must have (the one it
/// has already, where that fits) and each result gets, in normal form.
struct RowChoice {
  std::vector<Sharding> operands, results;
  std::vector<Row> rows; ///< per axis
  Cost cost;
};

/// The cheapest choice for operands on one mesh. Operands that fit are left
/// alone; others are to be redistributed (see RedistributePlan). With
/// `freeOnly` (strict mode) only changes without communication are allowed.
/// Returns nullopt when strict finds none. `itemSizes` are bytes per element of
/// each operand.
std::optional<RowChoice> chooseRows(const BoundRule &rule,
                                    std::span<const Sharding> operands,
                                    std::span<const int64_t> itemSizes,
                                    bool freeOnly = false);

} // namespace dtorch
