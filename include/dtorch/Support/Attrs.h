//===- Attrs.h - attributes of an op, without MLIR ------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dtorch {

using AttrValue =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

/// A small dictionary, sorted by name so that equal contents compare and print
/// equally.
class Attrs {
public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> entries);

  void set(std::string_view name, AttrValue value);
  /// The value, or null.
  const AttrValue *find(std::string_view name) const;
  /// Typed access; throws Error when absent or of another type.
  bool getBool(std::string_view name) const;
  int64_t getInt(std::string_view name) const;
  const std::string &getString(std::string_view name) const;
  const std::vector<int64_t> &getInts(std::string_view name) const;

  auto begin() const { return entries.begin(); }
  auto end() const { return entries.end(); }
  bool empty() const { return entries.empty(); }
  bool operator==(const Attrs &) const = default;

private:
  std::vector<std::pair<std::string, AttrValue>> entries;
};

} // namespace dtorch
