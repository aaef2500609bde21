//===- Helpers.h - inputs and meshes for the tests of Graph ---------------===//
#pragma once

#include "dtorch/Graph/Graph.h"

#include <gtest/gtest.h>

namespace dtorch::test {

inline MeshRef mesh2x2() {
  return DeviceMesh::regular("cpu", {"dp", "tp"}, {2, 2});
}

/// An input without contents that matter: recording looks at types only.
inline NodeRef input(Shape shape, Sharding sharding = Sharding::host(),
                     DType dtype = DType::Float32) {
  auto value = std::make_shared<DistTensor>();
  value->type = {shape, dtype, normalised(sharding, shape)};
  return Node::input(std::move(value), std::move(sharding));
}

inline NodeRef scalar(double number) {
  return Node::scalar(number, DType::Float32, 0);
}

inline NodeRef binary(Graph &graph, const char *kind, NodeRef lhs, NodeRef rhs,
                      Location location = {}) {
  return graph.record("binary", {std::move(lhs), std::move(rhs)},
                      {{"kind", std::string(kind)}}, location);
}

inline NodeRef unary(Graph &graph, const char *kind, NodeRef operand) {
  return graph.record("unary", {std::move(operand)},
                      {{"kind", std::string(kind)}});
}

/// The message of the Error that `body` throws; its kind goes to `kind`.
template <typename Body>
std::string errorOf(Body body, ErrorKind *kind = nullptr) {
  try {
    body();
  } catch (const Error &error) {
    if (kind)
      *kind = error.kind;
    return error.what();
  }
  return "no error";
}

} // namespace dtorch::test
