//===- Attrs.cpp - attributes of an op, without MLIR ----------------------===//

#include "dtorch/Support/Attrs.h"

#include "dtorch/Support/Error.h"

#include <algorithm>

using namespace dtorch;

Attrs::Attrs(std::initializer_list<std::pair<std::string, AttrValue>> list) {
  for (const auto &[name, value] : list)
    set(name, value);
}

namespace {
template <typename Entries>
auto lowerBound(Entries &entries, std::string_view name) {
  return std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const auto &entry, std::string_view n) { return entry.first < n; });
}

template <typename T>
const T &get(const Attrs &attrs, std::string_view name, const char *type) {
  const AttrValue *value = attrs.find(name);
  if (!value)
    throw Error("attribute '" + std::string(name) + "': missing",
                ErrorKind::Type);
  if (const T *typed = std::get_if<T>(value))
    return *typed;
  throw Error("attribute '" + std::string(name) + "': must be " + type,
              ErrorKind::Type);
}
} // namespace

void Attrs::set(std::string_view name, AttrValue value) {
  auto it = lowerBound(entries, name);
  if (it != entries.end() && it->first == name)
    it->second = std::move(value);
  else
    entries.emplace(it, std::string(name), std::move(value));
}

const AttrValue *Attrs::find(std::string_view name) const {
  auto it = lowerBound(entries, name);
  return it != entries.end() && it->first == name ? &it->second : nullptr;
}

bool Attrs::getBool(std::string_view name) const {
  return get<bool>(*this, name, "a bool");
}

int64_t Attrs::getInt(std::string_view name) const {
  return get<int64_t>(*this, name, "an int");
}

const std::string &Attrs::getString(std::string_view name) const {
  return get<std::string>(*this, name, "a string");
}

const std::vector<int64_t> &Attrs::getInts(std::string_view name) const {
  return get<std::vector<int64_t>>(*this, name, "a list of ints");
}
