//===- Mesh.h - an n-dimensional arrangement of devices -------------------===//
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtorch {

/// Sizes or coordinates, one per tensor dim or mesh axis.
using Shape = std::vector<int64_t>;

/// Number of elements; 1 for a 0-dim shape.
int64_t numElements(std::span<const int64_t> shape);

/// "(2, 3)" in messages.
std::string toString(std::span<const int64_t> shape);

class DeviceMesh;
/// Meshes are immutable and shared; compare with sameMesh, not by pointer.
using MeshRef = std::shared_ptr<const DeviceMesh>;

/// Devices arranged along named axes. A regular id layout is stored as start
/// plus strides, so a mesh of any size costs a few integers; only an
/// irregular one stores its ids.
///
/// Three meshes have no axes: the host mesh (every process holds the whole
/// value), and each one-device mesh (what unbind of the last axis gives).
class DeviceMesh {
public:
  /// The zero-axis mesh of host tensors.
  static MeshRef host();
  /// Regular mesh; row-major strides when `strides` is empty.
  /// Throws Error: a size < 1, a name used twice, sizes and names that differ
  /// in number, two devices with the same id.
  static MeshRef regular(std::string deviceType, std::vector<std::string> names,
                         Shape shape, int64_t start = 0, Shape strides = {});
  /// Mesh from row-major ids; becomes regular when the ids allow it.
  static MeshRef fromIds(std::string deviceType, std::vector<std::string> names,
                         Shape shape, std::vector<int64_t> ids);
  /// The inverse of str(): parses the text between `mesh<` and `>` included.
  static MeshRef parse(std::string_view text);

  bool isHost() const { return hostMesh; }
  bool isRegular() const { return ids.empty(); }
  const std::string &deviceType() const { return type; }
  const std::vector<std::string> &dimNames() const { return names; }
  const Shape &shape() const { return sizes; }
  int64_t start() const { return first; }
  const Shape &strides() const { return steps; }
  int64_t ndim() const { return static_cast<int64_t>(sizes.size()); }
  int64_t axisSize(int64_t axis) const { return sizes[axis]; }
  /// Number of devices; 1 for the host mesh (one host a process).
  int64_t numDevices() const { return numElements(sizes); }

  /// Axis of that name; nullopt if there is none.
  std::optional<int64_t> dimNameIndex(std::string_view name) const;

  /// Coordinates of the index-th device in row-major order of the mesh.
  Shape coordinates(int64_t index) const;
  /// Row-major index of coordinates.
  int64_t indexOf(std::span<const int64_t> coordinates) const;
  /// Global rank (device number) of the index-th device.
  int64_t deviceAt(int64_t index) const;
  /// Row-major index of a global rank; nullopt if it is not in the mesh.
  std::optional<int64_t> indexOfDevice(int64_t device) const;
  /// Largest device number plus one; 0 for the host mesh.
  int64_t requiredWorldSize() const;

  /// One mesh per coordinate of `axis`, that axis removed.
  std::vector<MeshRef> unbind(int64_t axis) const;

  /// Indices (in this mesh) of the devices that differ from device `index`
  /// only along `axes`, in row-major order of those axes (mesh order).
  std::vector<int64_t> group(int64_t index,
                             std::span<const int64_t> axes) const;

  bool operator==(const DeviceMesh &other) const;
  /// `mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>`,
  /// `mesh<cpu, [..], ids = [3, 1, 0, 2]>` or `mesh<cpu, host>`.
  std::string str() const;

private:
  DeviceMesh() = default;
  std::string type = "cpu";
  std::vector<std::string> names;
  Shape sizes, steps;
  int64_t first = 0;
  std::vector<int64_t> ids; ///< only when irregular
  bool hostMesh = false;
};

/// Pointer equality first, then contents.
bool sameMesh(const MeshRef &a, const MeshRef &b);

} // namespace dtorch
