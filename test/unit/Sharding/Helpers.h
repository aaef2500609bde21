//===- Helpers.h - short forms for tests of shardings -----------*- C++ -*-===//
#pragma once

#include "dtorch/Sharding/RedistributePlan.h"
#include "dtorch/Support/Error.h"

#include <gtest/gtest.h>

namespace dtorch {

inline MeshRef meshOf(Shape shape) {
  std::vector<std::string> names;
  for (size_t i = 0; i < shape.size(); ++i)
    names.push_back("x" + std::to_string(i));
  return DeviceMesh::regular("cpu", names, std::move(shape));
}

/// `on(mesh, "S(0) R P")`.
inline Sharding on(const MeshRef &mesh, std::string_view placements) {
  Sharding s{mesh, {}};
  while (!placements.empty()) {
    size_t end = placements.find(' ');
    s.placements.push_back(Placement::parse(placements.substr(0, end)));
    placements.remove_prefix(end == std::string_view::npos ? placements.size()
                                                           : end + 1);
  }
  return s;
}

inline std::vector<Sharding> on(const MeshRef &mesh,
                                std::initializer_list<const char *> list) {
  std::vector<Sharding> out;
  for (const char *text : list)
    out.push_back(on(mesh, text));
  return out;
}

/// Every list of one of `options` per mesh axis.
inline std::vector<Sharding>
allShardings(const MeshRef &mesh, const std::vector<Placement> &options) {
  std::vector<Sharding> all = {{mesh, {}}};
  for (int64_t axis = 0; axis < mesh->ndim(); ++axis) {
    std::vector<Sharding> longer;
    for (const Sharding &s : all)
      for (const Placement &p : options) {
        longer.push_back(s);
        longer.back().placements.push_back(p);
      }
    all = std::move(longer);
  }
  return all;
}

/// The message of the Error that `f` throws; fails if it throws none.
template <typename F> std::string errorOf(F f) {
  try {
    f();
  } catch (const Error &error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

} // namespace dtorch
