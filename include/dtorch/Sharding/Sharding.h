//===- Sharding.h - a mesh and one placement per axis ---------------------===//
#pragma once

#include "dtorch/Sharding/Mesh.h"
#include "dtorch/Sharding/Placement.h"

#include <span>
#include <string>
#include <vector>

namespace dtorch {

/// Where a tensor lies: a mesh and one placement per mesh axis, in mesh order.
struct Sharding {
  MeshRef mesh;
  std::vector<Placement> placements;

  static Sharding host() { return {DeviceMesh::host(), {}}; }
  static Sharding replicated(MeshRef mesh);

  bool isHost() const { return mesh->isHost(); }
  bool hasPartial() const;
  bool operator==(const Sharding &other) const;
  /// `[S(0), R, P]`: the placements alone.
  std::string placementsStr() const;

  /// Checks placements against a tensor shape. Throws Error (Placement): count
  /// differs from the number of axes, a dim out of range, a unit that is < 1,
  /// does not divide its dim, or differs between axes that shard one dim.
  void verify(std::span<const int64_t> shape) const;
};

/// The normal form that rules and IR see: `R` on axes of size 1 and for shards
/// of an empty dim, and no unit where the blocks divide by the product of the
/// axes that shard the dim. Equal layouts have equal normal forms.
Sharding normalised(const Sharding &sharding, std::span<const int64_t> shape);

/// Whether the law gives every device the same box under both (pending axes
/// must be pending, with the same reduction, in both). Axes of size 1 count as
/// R. Meshes must be equal.
bool sameLayout(const Sharding &a, const Sharding &b,
                std::span<const int64_t> shape);

} // namespace dtorch
