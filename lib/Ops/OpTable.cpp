//===- OpTable.cpp - what each compute op means ---------------------------===//

#include "dtorch/Ops/OpTable.h"

#include "Rules.h"
#include "dtorch/Sharding/TensorSize.h"

#include <algorithm>
#include <unordered_map>

using namespace dtorch;

std::string TensorType::str() const {
  std::string out(mlirName(dtype));
  out += "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

const std::vector<OpInfo> &dtorch::allOps() {
  static const std::vector<OpInfo> ops = {
#define GET_OP_TABLE
#include "dtorch/Ops/OpTable.inc"
#undef GET_OP_TABLE
  };
  return ops;
}

const OpInfo *dtorch::lookupOp(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const OpInfo *> map;
    for (const OpInfo &op : allOps())
      map.emplace(op.name, &op);
    return map;
  }();
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

/// The row of the op's kinds that the attribute `kind` picks.
static const KindInfo &kindOf(const OpCall &call) {
  const std::string &kind = call.attrs.getString("kind");
  std::string known;
  for (const KindInfo &info : call.op->kinds) {
    if (info.name == kind)
      return info;
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  throw Error(std::string(call.op->name) + ": kind must be one of " + known +
              ", got '" + kind + "'");
}

static BoundRule bindText(const OpCall &call, const PlacementRule &rule) {
  std::vector<Shape> shapes;
  shapes.reserve(call.operands.size());
  for (const TensorType &type : call.operands)
    shapes.push_back(type.shape);
  return rule.bind(subjectOf(call), shapes, {}, call.attrs,
                   call.op->operandNames);
}

/// Sums of bools saturate, so they are never left pending.
static void dropPendingBools(const OpCall &call, BoundRule &rule) {
  auto isBool = [&](int64_t i) {
    return call.operands[i].dtype == DType::Bool;
  };
  std::erase_if(rule.partials, [&](const PartialClause &clause) {
    return clause.kind == ReduceKind::Sum &&
           std::any_of(clause.operands.begin(), clause.operands.end(), isBool);
  });
  if (isBool(0))
    for (Factor &factor : rule.factors)
      if (factor.reduce == ReduceKind::Sum)
        factor.whole = true;
}

BoundRule dtorch::bindRule(const OpCall &call) {
  checkCall(call);
  BoundRule rule = call.op->ruleFunction    ? call.op->ruleFunction(call)
                   : call.op->kinds.empty() ? bindText(call, call.op->rule)
                                            : bindText(call, kindOf(call).rule);
  dropPendingBools(call, rule);
  return rule;
}

std::vector<TensorType> dtorch::inferTypes(const OpCall &call) {
  BoundRule rule = bindRule(call);
  std::string_view dtype =
      call.op->kinds.empty() ? call.op->resultDType : kindOf(call).resultDType;
  std::vector<TensorType> types;
  for (Shape &shape : rule.resultShapes) {
    checkSize(shape);
    types.push_back({std::move(shape), resultDType(call, dtype)});
  }
  return types;
}
