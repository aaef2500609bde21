//===- Sharding.cpp - a mesh and one placement per axis -------------------===//

#include "dtorch/Sharding/Sharding.h"

#include "dtorch/Sharding/TensorSize.h"
#include "dtorch/Support/Error.h"

#include <algorithm>

using namespace dtorch;

Sharding Sharding::replicated(MeshRef mesh) {
  size_t axes = mesh->ndim();
  return {std::move(mesh), std::vector<Placement>(axes)};
}

bool Sharding::hasPartial() const {
  return std::any_of(placements.begin(), placements.end(),
                     [](const Placement &p) { return p.isPartial(); });
}

bool Sharding::operator==(const Sharding &other) const {
  return placements == other.placements && sameMesh(mesh, other.mesh);
}

std::string Sharding::placementsStr() const {
  std::string out = "[";
  for (size_t i = 0; i < placements.size(); ++i)
    out += (i ? ", " : "") + placements[i].str();
  return out + "]";
}

static void verifyShard(const Sharding &sharding, size_t axis,
                        std::span<const int64_t> shape) {
  const Placement &p = sharding.placements[axis];
  auto fail = [&](const std::string &rule) {
    throw Error("placements " + sharding.placementsStr() + ": " + rule,
                ErrorKind::Placement);
  };
  int64_t rank = static_cast<int64_t>(shape.size());
  if (p.dim < 0 || p.dim >= rank)
    fail("dim must be in [0, " + std::to_string(rank) +
         ") of a tensor of shape " + toString(shape) + ", got " +
         std::to_string(p.dim));
  if (p.unit < 1 || shape[p.dim] % p.unit)
    fail("unit must be at least 1 and divide dim " + std::to_string(p.dim) +
         " of size " + std::to_string(shape[p.dim]) + ", got " +
         std::to_string(p.unit));
  for (size_t other = 0; other < axis; ++other) {
    const Placement &q = sharding.placements[other];
    if (q.isShard(p.dim) && q.unit != p.unit)
      fail("axes that shard dim " + std::to_string(p.dim) +
           " must have one unit, got " + std::to_string(q.unit) + " and " +
           std::to_string(p.unit));
  }
}

void Sharding::verify(std::span<const int64_t> shape) const {
  checkSize(shape);
  if (static_cast<int64_t>(placements.size()) != mesh->ndim())
    throw Error("placements " + placementsStr() + ": need one per mesh axis, " +
                    std::to_string(mesh->ndim()) + ", got " +
                    std::to_string(placements.size()),
                ErrorKind::Placement);
  for (size_t axis = 0; axis < placements.size(); ++axis)
    if (placements[axis].isShard())
      verifyShard(*this, axis, shape);
}

/// Parts into which the axes that shard `dim` cut it.
static int64_t partsOf(const Sharding &sharding, int64_t dim) {
  int64_t parts = 1;
  for (size_t axis = 0; axis < sharding.placements.size(); ++axis)
    if (sharding.placements[axis].isShard(dim))
      parts *= sharding.mesh->axisSize(axis);
  return parts;
}

/// Normal form of one placement. Nested balanced splits give every device
/// floor or ceil of blocks/parts blocks, so two units cut a dim alike only
/// where both divide it evenly: normal forms are equal exactly where the
/// layouts are.
static Placement normalPlacement(const Sharding &sharding, size_t axis,
                                 std::span<const int64_t> shape) {
  Placement p = sharding.placements[axis];
  if (sharding.mesh->axisSize(axis) == 1)
    return {};
  if (!p.isShard())
    return p;
  int64_t n = shape[p.dim];
  if (n == 0)
    return {};
  if (p.unit != 1 && n / p.unit % partsOf(sharding, p.dim) == 0)
    p.unit = 1;
  return p;
}

Sharding dtorch::normalised(const Sharding &sharding,
                            std::span<const int64_t> shape) {
  Sharding result = sharding;
  for (size_t axis = 0; axis < result.placements.size(); ++axis)
    result.placements[axis] = normalPlacement(sharding, axis, shape);
  return result;
}

bool dtorch::sameLayout(const Sharding &a, const Sharding &b,
                        std::span<const int64_t> shape) {
  if (!sameMesh(a.mesh, b.mesh) || a.placements.size() != b.placements.size())
    return false;
  if (a.placements == b.placements)
    return true;
  for (size_t axis = 0; axis < a.placements.size(); ++axis)
    if (normalPlacement(a, axis, shape) != normalPlacement(b, axis, shape))
      return false;
  return true;
}
