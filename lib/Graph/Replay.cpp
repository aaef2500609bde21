//===- Replay.cpp - ops recorded once, and again with other inputs --------===//

#include "dtorch/Graph/Replay.h"

#include <unordered_map>

using namespace dtorch;

Replay::Replay(std::span<const NodeRef> outputNodes, int64_t first) {
  Capture capture = dtorch::capture(outputNodes, first);
  std::unordered_map<const Node *, int64_t> numbers;
  for (Node *input : capture.inputs) {
    numbers[input] = static_cast<int64_t>(inputNodes.size());
    inputNodes.emplace_back(input);
  }
  // An output that no op made is an input, even if no op uses it.
  for (const NodeRef &output : outputNodes)
    if ((output->computed() || output->isInput() ||
         output->sequence() < first) &&
        numbers.try_emplace(output.get(), inputNodes.size()).second)
      inputNodes.push_back(output);
  auto extra = static_cast<int64_t>(inputNodes.size() - capture.inputs.size());
  auto shifted = [&](int64_t value) {
    return value < capture.valueOf(0) ? value : value + extra;
  };
  for (const Capture::Step &step : capture.steps) {
    const Node &node = *step.node;
    numbers[&node] = static_cast<int64_t>(inputNodes.size() + steps.size());
    Step &added = steps.emplace_back();
    added.use = node.use();
    added.type = node.use() ? nullptr : node.typeRef();
    added.strict = node.strict();
    for (int64_t operand : step.operands)
      added.operands.push_back(shifted(operand));
    added.location = node.location();
  }
  addScopes(capture);
  for (const NodeRef &output : outputNodes)
    outputs.push_back(numbers.at(output.get()));
  findKeys();
}

void Replay::addScopes(const Capture &capture) {
  std::unordered_map<const Scope *, int64_t> numbers;
  auto add = [&](auto &self, const Scope *scope) -> int64_t {
    if (!scope)
      return -1;
    if (auto it = numbers.find(scope); it != numbers.end())
      return it->second;
    int64_t parent = self(self, scope->parent.get());
    scopes.push_back({scope->path, parent});
    return numbers[scope] = static_cast<int64_t>(scopes.size()) - 1;
  };
  for (size_t i = 0; i < steps.size(); ++i)
    steps[i].scope = add(add, capture.steps[i].node->scope().get());
}

void Replay::findKeys() {
  auto numInputs = static_cast<int64_t>(inputNodes.size());
  // On a mesh, a number is replicated first.
  auto source = [&](int64_t value) {
    while (value >= numInputs && !steps[value - numInputs].use)
      value = steps[value - numInputs].operands.front();
    return value;
  };
  for (const Step &step : steps) {
    if (!step.use || step.use->op->operandNames.size() < 2 ||
        step.use->op->operandNames[0] != "seed" ||
        step.use->op->operandNames[1] != "offset")
      continue;
    int64_t seed = source(step.operands[0]), offset = source(step.operands[1]);
    if (seed < numInputs && offset < numInputs &&
        inputNodes[seed]->isScalar() && inputNodes[offset]->isScalar())
      keys.emplace_back(seed, offset);
  }
}

std::vector<ScopeRef> Replay::newScopes(const ScopeRef &outer) const {
  std::vector<ScopeRef> result;
  result.reserve(scopes.size());
  for (const auto &[path, parent] : scopes)
    result.push_back(std::make_shared<const Scope>(
        Scope{path, parent < 0 ? outer : result[parent]}));
  return result;
}

std::vector<NodeRef> Replay::record(Graph &graph,
                                    std::span<const NodeRef> inputs) const {
  if (inputs.size() != inputNodes.size())
    throw Error("replay: needs " + std::to_string(inputNodes.size()) +
                " inputs, got " + std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (&inputs[i]->valueTypeOf() != &inputNodes[i]->valueTypeOf())
      throw Error("replay: input " + std::to_string(i) + " must be " +
                      inputNodes[i]->type().str() + ", got " +
                      inputs[i]->type().str(),
                  ErrorKind::Type);
  ScopeRef outer = graph.currentScope();
  std::vector<ScopeRef> called = newScopes(outer);
  std::vector<NodeRef> values(inputs.begin(), inputs.end());
  values.reserve(inputs.size() + steps.size());
  std::vector<NodeRef> operands;
  for (const Step &step : steps) {
    operands.clear();
    for (int64_t operand : step.operands)
      operands.push_back(values[operand]);
    NodeRef node;
    if (step.use) {
      node = graph.makeOp(step.use, operands, step.location);
    } else {
      node = graph.makeNode(Node::Kind::Redistribute, operands, step.location);
      node->setType(step.type);
    }
    node->strictMode = step.strict;
    node->moduleCall = step.scope < 0 ? outer : called[step.scope];
    values.push_back(std::move(node));
  }
  std::vector<NodeRef> results;
  for (int64_t output : outputs)
    results.push_back(values[output]);
  return results;
}
