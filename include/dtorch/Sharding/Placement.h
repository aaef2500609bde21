//===- Placement.h - how a tensor lies on one mesh axis -------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dtorch {

enum class ReduceKind : uint8_t { Sum, Max, Min };

/// "sum", "max", "min".
std::string_view toString(ReduceKind kind);

/// shard | replicate | partial, on one mesh axis.
struct Placement {
  enum class Kind : uint8_t { Replicate, Shard, Partial };
  Kind kind = Kind::Replicate;
  ReduceKind reduce = ReduceKind::Sum; ///< Partial only
  int32_t dim = 0;                     ///< Shard only
  int64_t unit = 1;                    ///< Shard only; elements per block

  static Placement replicate() { return {}; }
  static Placement shard(int64_t dim, int64_t unit = 1) {
    return {Kind::Shard, ReduceKind::Sum, static_cast<int32_t>(dim), unit};
  }
  static Placement partial(ReduceKind reduce = ReduceKind::Sum) {
    return {Kind::Partial, reduce, 0, 1};
  }

  bool isReplicate() const { return kind == Kind::Replicate; }
  bool isShard() const { return kind == Kind::Shard; }
  bool isShard(int64_t d) const { return isShard() && dim == d; }
  bool isPartial() const { return kind == Kind::Partial; }
  bool operator==(const Placement &) const = default;
  auto operator<=>(const Placement &) const = default;

  /// `R`, `S(0)`, `S(0:64)`, `P`, `P(max)`.
  std::string str() const;
  /// The inverse of str(); throws Error.
  static Placement parse(std::string_view text);
};

} // namespace dtorch
