//===- Mesh.cpp - an n-dimensional arrangement of devices -----------------===//

#include "dtorch/Sharding/Mesh.h"

#include "dtorch/Sharding/TensorSize.h"
#include "dtorch/Support/Error.h"

#include <algorithm>
#include <numeric>

using namespace dtorch;

int64_t dtorch::numElements(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t n : shape)
    count *= n;
  return count;
}

std::string dtorch::toString(std::span<const int64_t> shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// Device numbers are smaller, so that no arithmetic on them overflows.
constexpr int64_t maxDevices = int64_t(1) << 40;
/// So many ids are kept as a list.
constexpr int64_t maxListed = int64_t(1) << 24;

static void checkName(const std::string &name) {
  for (unsigned char c : name)
    if (c < ' ' || c == 0x7f)
      throw Error("device mesh: axis names must have no control characters");
}

static void checkAxes(const std::vector<std::string> &names,
                      const Shape &shape) {
  if (names.size() != shape.size())
    throw Error("device mesh: needs one name per axis, got " +
                std::to_string(names.size()) + " names and shape " +
                toString(shape));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 1)
      throw Error("device mesh: sizes must be at least 1, got " +
                  toString(shape));
    if (std::find(names.begin(), names.begin() + i, names[i]) !=
        names.begin() + i)
      throw Error("device mesh: axis name '" + names[i] + "' is used twice");
    checkName(names[i]);
  }
  if (!productIsAtMost(shape, maxDevices))
    throw Error("device mesh: must have at most 2^40 devices, got shape " +
                toString(shape));
}

/// Checks that start and strides give device numbers below 2^40.
static void checkReach(const Shape &shape, int64_t start,
                       const Shape &strides) {
  bool fits = start < maxDevices;
  int64_t last = start;
  for (size_t i = 0; i < shape.size() && fits; ++i) {
    int64_t most = maxDevices / shape[i];
    fits = -most <= strides[i] && strides[i] <= most;
    last += fits ? (shape[i] - 1) * strides[i] : 0;
  }
  if (!fits || last >= maxDevices)
    throw Error("device mesh: device numbers must be below 2^40, got start " +
                std::to_string(start) + " and strides " + toString(strides) +
                " for shape " + toString(shape));
}

static Shape rowMajorStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Axes longer than 1 by falling stride: the order in which a device number is
/// taken apart.
static std::vector<size_t> axesByStride(const Shape &shape,
                                        const Shape &strides) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1)
      axes.push_back(i);
  std::sort(axes.begin(), axes.end(),
            [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  return axes;
}

/// Whether each stride exceeds the reach of all smaller ones. Then device
/// numbers are distinct and division finds the coordinates; other layouts are
/// kept as lists of ids.
static bool strictlyNested(const Shape &shape, const Shape &strides) {
  std::vector<size_t> axes = axesByStride(shape, strides);
  int64_t reach = 0;
  for (size_t i = axes.size(); i-- > 0;) {
    if (strides[axes[i]] <= reach)
      return false;
    reach += (shape[axes[i]] - 1) * strides[axes[i]];
  }
  return true;
}

MeshRef DeviceMesh::host() {
  static const MeshRef mesh = [] {
    std::shared_ptr<DeviceMesh> made(new DeviceMesh);
    made->hostMesh = true;
    return made;
  }();
  return mesh;
}

MeshRef DeviceMesh::regular(std::string deviceType,
                            std::vector<std::string> names, Shape shape,
                            int64_t start, Shape strides) {
  checkAxes(names, shape);
  Shape rowMajor = rowMajorStrides(shape);
  if (strides.empty())
    strides = rowMajor;
  if (strides.size() != shape.size())
    throw Error("device mesh: needs one stride per axis, got " +
                toString(strides) + " for shape " + toString(shape));
  // The stride of a size-1 axis means nothing; equal meshes must be equal.
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 1)
      strides[i] = rowMajor[i];
  if (start < 0)
    throw Error("device mesh: device numbers must be at least 0, got start " +
                std::to_string(start));
  checkReach(shape, start, strides);

  std::shared_ptr<DeviceMesh> mesh(new DeviceMesh);
  mesh->type = std::move(deviceType);
  mesh->names = std::move(names);
  mesh->sizes = std::move(shape);
  mesh->steps = std::move(strides);
  mesh->first = start;
  if (strictlyNested(mesh->sizes, mesh->steps))
    return mesh;
  if (mesh->numDevices() > maxListed)
    throw Error("device mesh: strides must be nested in a mesh of more than "
                "2^24 devices, got " +
                toString(mesh->steps) + " for shape " + toString(mesh->sizes));
  std::vector<int64_t> ids(mesh->numDevices());
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = mesh->deviceAt(i);
  return fromIds(mesh->type, mesh->names, mesh->sizes, std::move(ids));
}

static void checkIds(const std::vector<int64_t> &ids, const Shape &shape) {
  if (static_cast<int64_t>(ids.size()) != numElements(shape))
    throw Error("device mesh: shape " + toString(shape) + " needs " +
                std::to_string(numElements(shape)) + " devices, got " +
                std::to_string(ids.size()));
  std::vector<int64_t> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0)
    throw Error("device mesh: device numbers must be at least 0, got " +
                std::to_string(sorted.front()));
  if (sorted.back() >= maxDevices)
    throw Error("device mesh: device numbers must be below 2^40, got " +
                std::to_string(sorted.back()));
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw Error("device mesh: device " + std::to_string(*twice) +
                " is used twice");
}

MeshRef DeviceMesh::fromIds(std::string deviceType,
                            std::vector<std::string> names, Shape shape,
                            std::vector<int64_t> ids) {
  checkAxes(names, shape);
  checkIds(ids, shape);
  std::shared_ptr<DeviceMesh> mesh(new DeviceMesh);
  mesh->type = std::move(deviceType);
  mesh->names = std::move(names);
  mesh->sizes = std::move(shape);
  // The second device along each axis gives its stride, if there is one.
  Shape rowMajor = rowMajorStrides(mesh->sizes);
  mesh->first = ids[0];
  mesh->steps = rowMajor;
  for (size_t i = 0; i < mesh->sizes.size(); ++i)
    if (mesh->sizes[i] > 1)
      mesh->steps[i] = ids[rowMajor[i]] - ids[0];
  bool regular = strictlyNested(mesh->sizes, mesh->steps);
  for (size_t i = 0; regular && i < ids.size(); ++i)
    regular = mesh->deviceAt(i) == ids[i];
  if (!regular) {
    mesh->ids = std::move(ids);
    mesh->first = 0;
    mesh->steps.clear();
  }
  return mesh;
}

//===----------------------------------------------------------------------===//
// Coordinates and devices
//===----------------------------------------------------------------------===//

std::optional<int64_t> DeviceMesh::dimNameIndex(std::string_view name) const {
  auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end())
    return std::nullopt;
  return it - names.begin();
}

Shape DeviceMesh::coordinates(int64_t index) const {
  Shape coords(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    coords[i] = index % sizes[i];
    index /= sizes[i];
  }
  return coords;
}

int64_t DeviceMesh::indexOf(std::span<const int64_t> coordinates) const {
  int64_t index = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    index = index * sizes[i] + coordinates[i];
  return index;
}

int64_t DeviceMesh::deviceAt(int64_t index) const {
  if (!ids.empty())
    return ids[index];
  int64_t device = first;
  for (size_t i = sizes.size(); i-- > 0;) {
    device += (index % sizes[i]) * steps[i];
    index /= sizes[i];
  }
  return device;
}

std::optional<int64_t> DeviceMesh::indexOfDevice(int64_t device) const {
  if (hostMesh)
    return std::nullopt;
  if (!ids.empty()) {
    auto it = std::find(ids.begin(), ids.end(), device);
    if (it == ids.end())
      return std::nullopt;
    return it - ids.begin();
  }
  int64_t rest = device - first;
  if (rest < 0)
    return std::nullopt;
  Shape coords(sizes.size(), 0);
  for (size_t axis : axesByStride(sizes, steps)) {
    coords[axis] = rest / steps[axis];
    if (coords[axis] >= sizes[axis])
      return std::nullopt;
    rest -= coords[axis] * steps[axis];
  }
  if (rest)
    return std::nullopt;
  return indexOf(coords);
}

int64_t DeviceMesh::requiredWorldSize() const {
  if (hostMesh)
    return 0;
  if (!ids.empty())
    return *std::max_element(ids.begin(), ids.end()) + 1;
  int64_t last = first; // strides are positive
  for (size_t i = 0; i < sizes.size(); ++i)
    last += (sizes[i] - 1) * steps[i];
  return last + 1;
}

std::vector<MeshRef> DeviceMesh::unbind(int64_t axis) const {
  if (axis < 0 || axis >= ndim())
    throw Error("unbind: axis must be in [0, " + std::to_string(ndim()) +
                    "), got " + std::to_string(axis),
                ErrorKind::Index);
  auto without = [&](auto list) {
    list.erase(list.begin() + axis);
    return list;
  };
  std::vector<MeshRef> parts;
  for (int64_t c = 0; c < sizes[axis]; ++c) {
    if (isRegular()) {
      parts.push_back(regular(type, without(names), without(sizes),
                              first + c * steps[axis], without(steps)));
      continue;
    }
    std::vector<int64_t> part;
    for (size_t i = 0; i < ids.size(); ++i)
      if (coordinates(i)[axis] == c)
        part.push_back(ids[i]);
    parts.push_back(fromIds(type, without(names), without(sizes), part));
  }
  return parts;
}

std::vector<int64_t> DeviceMesh::group(int64_t index,
                                       std::span<const int64_t> axes) const {
  Shape coords = coordinates(index);
  std::vector<int64_t> sorted(axes.begin(), axes.end());
  std::sort(sorted.begin(), sorted.end());
  int64_t count = 1;
  for (int64_t axis : sorted)
    count *= sizes[axis];
  std::vector<int64_t> members(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t a = sorted.size(); a-- > 0;) {
      coords[sorted[a]] = rest % sizes[sorted[a]];
      rest /= sizes[sorted[a]];
    }
    members[i] = indexOf(coords);
  }
  return members;
}

bool DeviceMesh::operator==(const DeviceMesh &other) const {
  return hostMesh == other.hostMesh && sizes == other.sizes &&
         first == other.first && steps == other.steps && ids == other.ids &&
         names == other.names && type == other.type;
}

bool dtorch::sameMesh(const MeshRef &a, const MeshRef &b) {
  return a == b || (a && b && *a == *b);
}
