//===- CallChecks.cpp - checks that every op needs ------------------------===//

#include "Rules.h"

#include <algorithm>

using namespace dtorch;

std::string_view dtorch::subjectOf(const OpCall &call) {
  if (!call.op->kinds.empty())
    if (const AttrValue *kind = call.attrs.find("kind"))
      if (const auto *name = std::get_if<std::string>(kind))
        return *name;
  return call.op->name;
}

void dtorch::failCall(const OpCall &call, const std::string &message,
                      ErrorKind kind) {
  throw Error(std::string(subjectOf(call)) + ": " + message, kind);
}

std::string dtorch::operandName(const OpCall &call, size_t i) {
  const OpInfo &op = *call.op;
  size_t last = op.operandNames.size() - 1;
  if (op.maxOperands < 0 && i >= last)
    return std::string(op.operandNames[last]) + "[" + std::to_string(i - last) +
           "]";
  return std::string(op.operandNames[i]);
}

static void checkNumOperands(const OpCall &call) {
  const OpInfo &op = *call.op;
  int64_t count = call.operands.size();
  if (count >= op.minOperands &&
      (op.maxOperands < 0 || count <= op.maxOperands))
    return;
  std::string expected = std::to_string(op.minOperands);
  if (op.maxOperands < 0)
    expected = "at least " + expected;
  else if (op.maxOperands != op.minOperands)
    expected += " to " + std::to_string(op.maxOperands);
  failCall(call,
           "takes " + expected + (expected == "1" ? " tensor" : " tensors") +
               ", got " + std::to_string(count),
           ErrorKind::Type);
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

/// The word for operand i; the last word stands for all that follow.
static std::string_view dtypeWord(std::string_view words, size_t i) {
  for (;; --i) {
    size_t end = words.find(' ');
    if (i == 0 || end == std::string_view::npos)
      return words.substr(0, end);
    words.remove_prefix(end + 1);
  }
}

static bool oneOf(std::string_view names, std::string_view name) {
  while (true) {
    size_t end = names.find('|');
    if (names.substr(0, end) == name)
      return true;
    if (end == std::string_view::npos)
      return false;
    names.remove_prefix(end + 1);
  }
}

static bool isWordOf(std::string_view word, DType dtype) {
  if (word == "any")
    return true;
  if (word == "float")
    return isFloating(dtype);
  if (word == "int")
    return dtype == DType::Int32 || dtype == DType::Int64;
  return oneOf(word, toString(dtype));
}

static std::string describeWord(std::string_view word) {
  if (word == "float" || word == "int")
    return "of " + std::string(word) + " dtype";
  std::string text(word);
  for (size_t i; (i = text.find('|')) != std::string::npos;)
    text.replace(i, 1, " or ");
  return text;
}

static void checkDTypes(const OpCall &call) {
  size_t shared = call.operands.size(); // the first operand of type T
  for (size_t i = 0; i < call.operands.size(); ++i) {
    std::string_view word = dtypeWord(call.op->operandDTypes, i);
    DType dtype = call.operands[i].dtype;
    if (word == "T" && shared == call.operands.size())
      shared = i;
    if (word == "T" || word == "mask") {
      DType first = call.operands[shared].dtype;
      if (dtype == first || (word == "mask" && dtype == DType::Bool))
        continue;
      std::string names = operandName(call, shared) + " and " +
                          operandName(call, i) + " must have one dtype";
      if (word == "mask")
        names = operandName(call, i) + " must be bool or have the dtype of " +
                operandName(call, shared);
      failCall(call,
               names + ", got " + std::string(toString(first)) + " and " +
                   std::string(toString(dtype)),
               ErrorKind::Type);
    }
    if (!isWordOf(word, dtype))
      failCall(call,
               operandName(call, i) + " must be " + describeWord(word) +
                   ", got " + std::string(toString(dtype)),
               ErrorKind::Type);
  }
}

DType dtorch::resultDType(const OpCall &call, std::string_view rule) {
  if (rule == "bool")
    return DType::Bool;
  if (rule == "int64")
    return DType::Int64;
  if (rule == "last")
    return call.operands.back().dtype;
  if (rule == "attr")
    return parseDType(call.attrs.getString("dtype"));
  DType first = call.operands[0].dtype;
  return rule == "float" && !isFloating(first) ? DType::Float32 : first;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static bool hasType(const AttrValue &value, AttrType type) {
  switch (type) {
  case AttrType::Bool:
    return std::holds_alternative<bool>(value);
  case AttrType::Int:
    return std::holds_alternative<int64_t>(value);
  case AttrType::Float:
    return std::holds_alternative<double>(value);
  case AttrType::String:
  case AttrType::DType:
    return std::holds_alternative<std::string>(value);
  case AttrType::Ints:
    return std::holds_alternative<std::vector<int64_t>>(value);
  }
  return false;
}

static std::string_view describeType(AttrType type) {
  switch (type) {
  case AttrType::Bool:
    return "a bool";
  case AttrType::Int:
    return "an int";
  case AttrType::Float:
    return "a float";
  case AttrType::String:
    return "a string";
  case AttrType::DType:
    return "the name of a dtype";
  case AttrType::Ints:
    return "a list of ints";
  }
  return "";
}

static void checkAttrs(const OpCall &call) {
  for (const AttrInfo &info : call.op->attrs) {
    const AttrValue *value = call.attrs.find(info.name);
    if (!value)
      failCall(call, "attribute '" + std::string(info.name) + "' is missing",
               ErrorKind::Type);
    if (!hasType(*value, info.type))
      failCall(call,
               "attribute '" + std::string(info.name) + "' must be " +
                   std::string(describeType(info.type)),
               ErrorKind::Type);
    if (info.type == AttrType::DType)
      parseDType(std::get<std::string>(*value));
  }
}

void dtorch::checkCall(const OpCall &call) {
  checkAttrs(call); // first: the kind is the subject of later messages
  checkNumOperands(call);
  checkDTypes(call);
}

void dtorch::checkDim(const OpCall &call, std::string_view what, int64_t dim,
                      int64_t rank) {
  if (dim < 0 || dim >= rank)
    failCall(call,
             std::string(what) + " must be in [0, " + std::to_string(rank) +
                 "), got " + std::to_string(dim),
             ErrorKind::Index);
}

const std::vector<int64_t> &dtorch::perDim(const OpCall &call,
                                           std::string_view name, size_t rank) {
  const std::vector<int64_t> &list = call.attrs.getInts(name);
  if (list.size() != rank)
    failCall(call, std::string(name) + " needs one number per dim, " +
                       std::to_string(rank) + ", got " + toString(list));
  return list;
}

Shape dtorch::shapeAttr(const OpCall &call) {
  const Shape &shape = call.attrs.getInts("shape");
  if (std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; }))
    failCall(call, "sizes of shape must be at least 0, got " + toString(shape));
  return shape;
}

//===----------------------------------------------------------------------===//
// RuleBuilder
//===----------------------------------------------------------------------===//

RuleBuilder::RuleBuilder(const OpCall &call) {
  for (const TensorType &type : call.operands) {
    rule.operandShapes.push_back(type.shape);
    rule.operands.emplace_back(type.shape.size());
  }
}

int64_t RuleBuilder::addFactor(std::string name, int64_t size) {
  Factor &factor = rule.factors.emplace_back();
  factor.name = std::move(name);
  factor.size = size;
  return static_cast<int64_t>(rule.factors.size()) - 1;
}

void RuleBuilder::setResultShape(Shape shape) {
  rule.results = {std::vector<DimFactor>(shape.size())};
  rule.resultShapes = {std::move(shape)};
}

void RuleBuilder::addRead(size_t operand, size_t dim) {
  int64_t factor = addFactor("v", rule.operandShapes[operand][dim]);
  rule.factors[factor].reduce = ReduceKind::Sum;
  setOperand(operand, dim, factor);
}

void RuleBuilder::passPending(std::initializer_list<ReduceKind> kinds) {
  std::vector<int64_t> all(rule.operands.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<int64_t>(i);
  passPending(kinds, std::move(all));
}

void RuleBuilder::passPending(std::initializer_list<ReduceKind> kinds,
                              std::vector<int64_t> operands) {
  for (ReduceKind kind : kinds)
    rule.partials.push_back({kind, operands});
}
