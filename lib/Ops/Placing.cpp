//===- Placing.cpp - where an op's operands must lie ----------------------===//

#include "dtorch/Ops/Placing.h"

using namespace dtorch;

static std::vector<Sharding> joinMesh(const OpCall &call,
                                      std::span<const Sharding> held) {
  MeshRef mesh = DeviceMesh::host();
  for (const Sharding &sharding : held) {
    if (sharding.isHost())
      continue;
    if (!mesh->isHost() && !sameMesh(mesh, sharding.mesh))
      throw Error(std::string(subjectOf(call)) +
                      ": operands must be on one mesh, got " + mesh->str() +
                      " and " + sharding.mesh->str() +
                      "; redistribute one of them",
                  ErrorKind::Placement);
    mesh = sharding.mesh;
  }
  std::vector<Sharding> joined;
  for (const Sharding &sharding : held)
    joined.push_back(sharding.isHost() && !mesh->isHost()
                         ? Sharding::replicated(mesh)
                         : sharding);
  return joined;
}

Placing dtorch::placeCall(OpCall call, std::vector<Sharding> held,
                          bool strict) {
  Placing placing{std::move(call), {}, std::move(held), {}, {}};
  placing.rule = bindRule(placing.call);
  placing.joined = joinMesh(placing.call, placing.held);
  std::vector<int64_t> itemSizes;
  for (const TensorType &type : placing.call.operands)
    itemSizes.push_back(itemSize(type.dtype));
  placing.choice = chooseRows(placing.rule, placing.joined, itemSizes, strict);
  return placing;
}

std::string dtorch::placementsText(const OpCall &call,
                                   std::span<const Sharding> shardings) {
  std::string text;
  for (size_t i = 0; i < shardings.size(); ++i)
    text +=
        (i ? ", " : "") + operandName(call, i) + " " +
        (shardings[i].isHost() ? "on the host" : shardings[i].placementsStr());
  return text;
}

std::string dtorch::legalRowsText(const BoundRule &rule) {
  std::string text;
  for (const Row &row : rule.rows()) {
    text += text.empty() ? "(" : " (";
    for (size_t i = 0; i < row.operands.size(); ++i)
      text += (i ? ", " : "") + row.operands[i].str();
    text += " ->";
    for (const Placement &result : row.results)
      text += " " + result.str();
    text += ")";
  }
  return text;
}

std::string dtorch::noRowText(const Placing &placing) {
  return "placements must match a row of the rule on every axis in strict "
         "mode, got " +
         placementsText(placing.call, placing.held);
}
