//===- DistTensor.cpp - global tensors in pieces --------------------------===//
#include "dtorch/Runtime/CPU/Reduction.h"
#include "dtorch/Runtime/Storage.h"
#include "dtorch/Runtime/StridedCopy.h"
#include "dtorch/Support/Error.h"

#include <algorithm>
#include <map>

namespace dtorch {

std::string BufferType::str() const {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  text += mlirName(dtype);
  return text + ", " + (sharding.isHost() ? "host" : sharding.placementsStr());
}

Box BufferType::boxOf(int64_t index) const {
  return localBox(shape, sharding, sharding.mesh->coordinates(index));
}

size_t BufferType::maxLocalBytes() const {
  return dtorch::numElements(maxLocalShape(shape, sharding)) * itemSize(dtype);
}

namespace {

/// Axes whose placement satisfies the predicate.
template <typename Predicate>
std::vector<int64_t> axesWhere(const Sharding &sharding, Predicate predicate) {
  std::vector<int64_t> axes;
  for (size_t a = 0; a < sharding.placements.size(); ++a)
    if (predicate(sharding.placements[a]))
      axes.push_back(a);
  return axes;
}

bool allZero(const Shape &coordinates, const std::vector<int64_t> &axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [&](int64_t a) { return coordinates[a] == 0; });
}

Box wholeBox(const Shape &shape) { return {Shape(shape.size(), 0), shape}; }

} // namespace

DistTensorRef distribute(const StorageRef &global, const BufferType &type) {
  int64_t item = itemSize(type.dtype);
  if (static_cast<int64_t>(global->size()) <
      dtorch::numElements(type.shape) * item)
    throw Error("distribute: " + type.str() + " needs " +
                std::to_string(dtorch::numElements(type.shape) * item) +
                " bytes, got " + std::to_string(global->size()));
  type.sharding.verify(type.shape);
  auto tensor = std::make_shared<DistTensor>(DistTensor{type, {}});
  auto pending =
      axesWhere(type.sharding, [](Placement p) { return p.isPartial(); });
  // An absent part of a pending max or min would not be zeros.
  for (int64_t axis : pending)
    if (type.sharding.placements[axis].reduce != ReduceKind::Sum &&
        type.sharding.mesh->axisSize(axis) > 1)
      throw Error("distribute: only a sum can be left pending, got " +
                      type.sharding.placementsStr(),
                  ErrorKind::Placement);
  std::map<std::pair<Shape, Shape>, StorageRef> byBox;
  for (int64_t i = 0; i < type.sharding.mesh->numDevices(); ++i) {
    Box box = type.boxOf(i);
    if (!allZero(type.sharding.mesh->coordinates(i), pending)) {
      tensor->locals.push_back(Storage::zeros(box.numElements() * item));
      continue;
    }
    StorageRef &local = byBox[{box.offset, box.size}];
    if (!local) {
      StridedCopy copy =
          StridedCopy::ofBox(box, wholeBox(type.shape), box, item);
      if (copy.isOneBlock()) {
        char *base = static_cast<char *>(global->data());
        local = Storage::borrow(copy.bytes() ? base + copy.sourceByte() : base,
                                copy.bytes(), global);
      } else {
        local = Storage::allocate(copy.bytes());
        copy.run(global->data(), local->data());
      }
    }
    tensor->locals.push_back(local);
  }
  return tensor;
}

void assemble(const DistTensor &tensor, void *global) {
  const BufferType &type = tensor.type;
  const DeviceMesh &mesh = *type.sharding.mesh;
  int64_t item = itemSize(type.dtype);
  auto pending =
      axesWhere(type.sharding, [](Placement p) { return p.isPartial(); });
  auto notSharded =
      axesWhere(type.sharding, [](Placement p) { return !p.isShard(); });
  for (int64_t i = 0; i < mesh.numDevices(); ++i) {
    if (!allZero(mesh.coordinates(i), notSharded))
      continue;
    Box box = type.boxOf(i);
    const void *local = tensor.locals[i]->data();
    StorageRef reduced;
    if (!pending.empty()) {
      std::vector<const void *> parts;
      for (int64_t member : mesh.group(i, pending))
        parts.push_back(tensor.locals[member]->data());
      reduced = Storage::allocate(box.numElements() * item);
      reduceElements(type.dtype, type.sharding.placements[pending[0]].reduce,
                     parts, reduced->data(), box.numElements());
      local = reduced->data();
    }
    StridedCopy::ofBox(box, box, wholeBox(type.shape), item).run(local, global);
  }
}

} // namespace dtorch
