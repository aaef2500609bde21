//===- Capture.cpp - what one flush computes ------------------------------===//

#include "dtorch/Graph/Capture.h"

#include "Key.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

using namespace dtorch;

const Node &Capture::node(int64_t value) const {
  int64_t numInputs = static_cast<int64_t>(inputs.size());
  return value < numInputs ? *inputs[value] : *steps[value - numInputs].node;
}

/// The nodes to compute, oldest first. An operand is recorded before its
/// result, so this is an order of computation.
static std::vector<Capture::Step> collect(std::span<const NodeRef> wanted) {
  std::vector<Capture::Step> steps;
  std::unordered_set<const Node *> seen;
  std::vector<const NodeRef *> stack;
  for (const NodeRef &node : wanted)
    stack.push_back(&node);
  while (!stack.empty()) {
    const NodeRef &node = *stack.back();
    stack.pop_back();
    if (node->computed() || !seen.insert(node.get()).second)
      continue;
    for (const NodeRef &input : node->inputs())
      stack.push_back(&input);
    steps.push_back({node, {}, false});
  }
  std::sort(steps.begin(), steps.end(), [](const auto &a, const auto &b) {
    return a.node->sequence() < b.node->sequence();
  });
  return steps;
}

Capture dtorch::capture(std::span<const NodeRef> wanted) {
  Capture result;
  result.steps = collect(wanted);

  std::unordered_map<const Node *, int64_t> stepOf, inputOf;
  for (size_t i = 0; i < result.steps.size(); ++i)
    stepOf[result.steps[i].node.get()] = static_cast<int64_t>(i);
  for (const Capture::Step &step : result.steps)
    for (const NodeRef &input : step.node->inputs()) {
      if (stepOf.count(input.get()) ||
          !inputOf.try_emplace(input.get(), result.inputs.size()).second)
        continue;
      result.inputs.push_back(input);
      result.values.push_back(input->value());
    }

  // What the steps themselves do not account for, somebody else holds.
  std::vector<long> uses(result.steps.size(), 1);
  for (Capture::Step &step : result.steps)
    for (const NodeRef &input : step.node->inputs()) {
      auto it = stepOf.find(input.get());
      if (it != stepOf.end())
        ++uses[it->second];
      step.operands.push_back(it != stepOf.end() ? result.valueOf(it->second)
                                                 : inputOf[input.get()]);
    }
  for (size_t i = 0; i < result.steps.size(); ++i)
    result.steps[i].stored = result.steps[i].node.use_count() > uses[i];
  for (const NodeRef &node : wanted)
    if (auto it = stepOf.find(node.get()); it != stepOf.end())
      result.steps[it->second].stored = true;
  return result;
}

std::vector<std::string> dtorch::argumentNames(const Capture &capture) {
  // Names that users gave go first; `owners` says to which value.
  std::unordered_map<std::string, int64_t> owners;
  auto identity = [](const Node &input) {
    return input.origin >= 0 ? input.origin : input.sequence();
  };
  for (const NodeRef &input : capture.inputs)
    if (!input->name.empty())
      owners.try_emplace(input->name, identity(*input));

  std::vector<std::string> names;
  std::unordered_map<std::string, int64_t> counts;
  for (const NodeRef &input : capture.inputs) {
    auto owner = owners.find(input->name);
    if (owner != owners.end() && owner->second == identity(*input)) {
      names.push_back(input->name);
      continue;
    }
    std::string stem = !input->name.empty() ? input->name + "_"
                       : input->parameter   ? "parameter"
                       : input->isScalar()  ? "scalar"
                                            : "input";
    std::string name;
    do
      name = stem + std::to_string(counts[stem]++);
    while (!owners.try_emplace(name, identity(*input)).second);
    names.push_back(std::move(name));
  }
  return names;
}

//===----------------------------------------------------------------------===//
// The structure
//===----------------------------------------------------------------------===//

std::string dtorch::structureKey(const Capture &capture) {
  Key key;
  for (const NodeRef &input : capture.inputs) {
    key.add(static_cast<int64_t>(input->type().dtype) * 2 + input->parameter);
    key.add(std::span<const int64_t>(input->type().shape));
    key.add(input->normalSharding());
  }
  // Types and placements of the steps follow from those of the inputs.
  for (const Capture::Step &step : capture.steps) {
    const Node &node = *step.node;
    key.addOp(node);
    key.add(std::span<const int64_t>(step.operands));
    key.add(int64_t(step.stored));
    key.add(node.scope().get());
  }
  return std::move(key.text);
}
