//===- RuleText.cpp - parses the text of a placement rule -----------------===//

#include "Scanner.h"
#include "dtorch/Sharding/PlacementRule.h"

#include <algorithm>

using namespace dtorch;

namespace {

class RuleParser {
public:
  explicit RuleParser(std::string_view text) : scan("placement rule", text) {
    rule.text = text;
  }

  PlacementRule parse() {
    rule.operands = parseTensors();
    scan.expect("->");
    rule.results = parseTensors();
    while (scan.eat(";"))
      parseClause();
    scan.expectEnd();
    checkAbsentFactors();
    return std::move(rule);
  }

private:
  using Tensor = std::vector<PlacementRule::Term>;

  std::vector<Tensor> parseTensors() {
    std::vector<Tensor> tensors;
    do
      tensors.push_back(parseTensor());
    while (scan.eat(","));
    return tensors;
  }

  Tensor parseTensor() {
    Tensor tensor;
    std::vector<int64_t> used;
    while (!scan.atEnd() && !scan.sees(",") && !scan.sees("->") &&
           !scan.sees(";")) {
      PlacementRule::Term term;
      if (scan.eat("...")) {
        term.batch = true;
        if (std::any_of(tensor.begin(), tensor.end(),
                        [](const auto &t) { return t.batch; }))
          scan.fail("'...' twice in one tensor");
        if (!tensor.empty())
          scan.fail("'...' must come first");
      } else if (scan.eat("(")) {
        while (!scan.eat(")"))
          term.factors.push_back(parseFactor(used));
        if (term.factors.empty())
          scan.fail("'()' names no factor");
      } else {
        term.factors.push_back(parseFactor(used));
      }
      tensor.push_back(std::move(term));
    }
    return tensor;
  }

  int64_t parseFactor(std::vector<int64_t> &used) {
    std::string_view name = scan.identifier();
    if (name.empty())
      scan.fail(scan.atEnd() ? "missing ')'" : "expected a factor");
    auto it = std::find(rule.factorNames.begin(), rule.factorNames.end(), name);
    int64_t factor = it - rule.factorNames.begin();
    if (it == rule.factorNames.end()) {
      rule.factorNames.emplace_back(name);
      rule.whole.push_back(false);
      rule.reduce.emplace_back();
      rule.select.emplace_back();
    }
    if (std::find(used.begin(), used.end(), factor) != used.end())
      scan.fail("factor '" + std::string(name) + "' twice in one tensor");
    used.push_back(factor);
    return factor;
  }

  void parseClause() {
    std::string name(scan.identifier());
    scan.expect(":");
    if (scan.atEnd() || scan.sees(";"))
      scan.fail("clause '" + name + "' is empty");
    while (!scan.atEnd() && !scan.sees(";")) {
      if (name == "reduce")
        parseReduce();
      else if (name == "whole")
        parseWhole();
      else if (name == "offset")
        knownFactor(); // tells readers; kernels always see their boxes
      else if (name == "select")
        parseSelect();
      else if (name == "partial")
        parsePartial();
      else
        scan.fail("unknown clause '" + name + "'");
    }
  }

  void parseReduce() {
    if (scan.eat("[")) {
      std::string attr = attrName();
      scan.expect("=");
      std::optional<ReduceKind> kind;
      if (!scan.eat("none"))
        kind = reduceKind();
      rule.reduceAttrs.emplace_back(std::move(attr), kind);
      return;
    }
    int64_t factor = knownFactor();
    scan.expect("=");
    rule.reduce[factor] = reduceKind();
    if (inTensors(rule.results, factor))
      scan.fail("reduced factor '" + rule.factorNames[factor] +
                "' is in a result");
  }

  void parseWhole() {
    if (scan.eat("["))
      rule.wholeAttrs.push_back(attrName());
    else
      rule.whole[knownFactor()] = true;
  }

  void parseSelect() {
    int64_t factor = knownFactor();
    rule.select[factor] = operandList();
    for (int64_t i : rule.select[factor])
      if (!inTensor(rule.operands[i], factor))
        scan.fail("operand " + std::to_string(i) + " has no factor '" +
                  rule.factorNames[factor] + "'");
  }

  void parsePartial() {
    ReduceKind kind = reduceKind();
    rule.partials.push_back({kind, operandList()});
  }

  std::string attrName() {
    std::string name(scan.identifier());
    if (name.empty())
      scan.fail("expected an attribute name");
    scan.expect("]");
    return name;
  }

  int64_t knownFactor() {
    std::string_view name = scan.identifier();
    if (name.empty())
      scan.fail("expected a factor");
    auto it = std::find(rule.factorNames.begin(), rule.factorNames.end(), name);
    if (it == rule.factorNames.end())
      scan.fail("no tensor has factor '" + std::string(name) + "'");
    return it - rule.factorNames.begin();
  }

  ReduceKind reduceKind() {
    std::string_view name = scan.identifier();
    for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
      if (name == toString(kind))
        return kind;
    scan.fail("expected sum, max or min");
  }

  std::vector<int64_t> operandList() {
    std::vector<int64_t> list;
    scan.expect("(");
    while (!scan.eat(")")) {
      int64_t i = scan.integer();
      if (i < 0 || i >= static_cast<int64_t>(rule.operands.size()))
        scan.fail("there is no operand " + std::to_string(i));
      if (std::find(list.begin(), list.end(), i) != list.end())
        scan.fail("operand " + std::to_string(i) + " twice");
      list.push_back(i);
    }
    if (list.empty())
      scan.fail("'()' names no operand");
    return list;
  }

  static bool inTensor(const Tensor &tensor, int64_t factor) {
    return std::any_of(tensor.begin(), tensor.end(), [&](const auto &term) {
      return std::find(term.factors.begin(), term.factors.end(), factor) !=
             term.factors.end();
    });
  }

  static bool inTensors(const std::vector<Tensor> &tensors, int64_t factor) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const Tensor &t) { return inTensor(t, factor); });
  }

  /// A factor that results lack is contracted somehow: the rule must say how.
  void checkAbsentFactors() {
    for (size_t f = 0; f < rule.factorNames.size(); ++f)
      if (!rule.whole[f] && !rule.reduce[f] && !inTensors(rule.results, f))
        scan.fail("no result has factor '" + rule.factorNames[f] +
                  "'; say reduce or whole");
  }

  Scanner scan;
  PlacementRule rule;
};

} // namespace

PlacementRule PlacementRule::parse(std::string_view text) {
  return RuleParser(text).parse();
}
