//===- Helpers.h - short forms for tests of ops -----------------*- C++ -*-===//
#pragma once

#include "../Sharding/Helpers.h"
#include "dtorch/Ops/OpTable.h"

namespace dtorch {

using Ints = std::vector<int64_t>;

/// A call on float32 tensors.
inline OpCall callOf(std::string_view op, std::vector<Shape> shapes,
                     Attrs attrs = {}) {
  OpCall call{lookupOp(op), {}, std::move(attrs)};
  for (Shape &shape : shapes)
    call.operands.push_back({std::move(shape), DType::Float32});
  return call;
}

inline OpCall embeddingCall(Shape weight, Shape indices) {
  OpCall call = callOf("embedding", {std::move(weight), std::move(indices)});
  call.operands[1].dtype = DType::Int64;
  return call;
}

inline OpCall attentionCall(Shape q, Shape k, Shape v, Shape mask = {}) {
  OpCall call = callOf("sdpa", {q, k, v, {}}, {{"is_causal", true}});
  if (!mask.empty())
    call.operands.push_back({mask, DType::Bool});
  return call;
}

/// "S(0),R->S(0)", one a row.
inline std::vector<std::string> rowsOf(const BoundRule &rule) {
  std::vector<std::string> out;
  for (const Row &row : rule.rows()) {
    std::string text;
    for (size_t i = 0; i < row.operands.size(); ++i)
      text += (i ? "," : "") + row.operands[i].str();
    out.push_back(text + "->" + row.results[0].str());
  }
  return out;
}

using Rows = std::vector<std::string>;

/// Names of the operand and result placements of a choice: "S(0) R -> P", and
/// its cost when operands change: "… (bytes/collectives)".
inline std::string choose(const OpCall &call, const MeshRef &mesh,
                          std::initializer_list<const char *> operands,
                          bool freeOnly = false) {
  BoundRule rule = bindRule(call);
  std::vector<Sharding> held = on(mesh, operands);
  std::vector<int64_t> itemSizes(held.size(), 1);
  auto choice = chooseRows(rule, held, itemSizes, freeOnly);
  if (!choice)
    return "none";
  std::string out;
  std::vector<Sharding> normal = choice->operands;
  for (size_t i = 0; i < normal.size(); ++i)
    normal[i] = normalised(normal[i], rule.operandShapes[i]);
  EXPECT_TRUE(matches(rule, normal, choice->results));
  for (const Sharding &s : choice->operands)
    out += s.placementsStr() + " ";
  out += "-> " + choice->results[0].placementsStr();
  if (choice->cost.changed)
    out += " (" + std::to_string(choice->cost.bytes) + "/" +
           std::to_string(choice->cost.collectives) + ")";
  return out;
}

} // namespace dtorch
