//===- Capture.cpp - what one flush computes ------------------------------===//

#include "dtorch/Graph/Capture.h"

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
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  for (const NodeRef &input : capture.inputs)
    taken.insert(input->name); // a name of the user's goes first
  std::unordered_set<std::string> given;
  std::unordered_map<std::string, int64_t> counts;
  for (const NodeRef &input : capture.inputs) {
    if (!input->name.empty() && given.insert(input->name).second) {
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
    while (taken.count(name) || !given.insert(name).second);
    names.push_back(std::move(name));
  }
  return names;
}

//===----------------------------------------------------------------------===//
// The structure
//===----------------------------------------------------------------------===//

namespace {
/// Appends numbers and texts so that different contents give different bytes.
class Key {
public:
  void add(int64_t number) {
    text.append(reinterpret_cast<const char *>(&number), sizeof(number));
  }
  void add(std::string_view string) {
    add(static_cast<int64_t>(string.size()));
    text += string;
  }
  void add(std::span<const int64_t> numbers) {
    add(static_cast<int64_t>(numbers.size()));
    for (int64_t number : numbers)
      add(number);
  }
  void add(const AttrValue &value) {
    add(static_cast<int64_t>(value.index()));
    std::visit(
        [this](const auto &v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, double>)
            text.append(reinterpret_cast<const char *>(&v), sizeof(v));
          else if constexpr (std::is_arithmetic_v<T>)
            add(static_cast<int64_t>(v));
          else if constexpr (std::is_same_v<T, std::string>)
            add(std::string_view(v));
          else
            add(std::span<const int64_t>(v));
        },
        value);
  }
  void add(const Attrs &attrs) {
    for (const auto &[name, value] : attrs) {
      add(std::string_view(name));
      add(value);
    }
    add(int64_t(-1));
  }
  void add(const Sharding &sharding) {
    add(std::string_view(sharding.mesh->str()));
    add(std::string_view(sharding.placementsStr()));
  }
  /// Scopes by number, in order of first use, each with its parent.
  void add(const Scope *scope) {
    if (!scope)
      return add(int64_t(-1));
    auto [it, isNew] = scopes.try_emplace(scope, scopes.size());
    add(it->second);
    if (isNew)
      add(scope->parent.get());
  }
  std::string text;

private:
  std::unordered_map<const Scope *, int64_t> scopes;
};
} // namespace

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
    if (const OpUseRef &use = node.use()) {
      key.add(use->op->name);
      key.add(use->attrs);
    } else {
      key.add(std::string_view("redistribute"));
      key.add(node.normalSharding());
    }
    key.add(std::span<const int64_t>(step.operands));
    key.add(int64_t(node.strict()) * 2 + step.stored);
    key.add(node.scope().get());
  }
  return std::move(key.text);
}
