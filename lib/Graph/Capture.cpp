//===- Capture.cpp - what one flush computes ------------------------------===//

#include "dtorch/Graph/Capture.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

using namespace dtorch;

const Node &Capture::node(int64_t value) const {
  int64_t numInputs = static_cast<int64_t>(inputs.size());
  return value < numInputs ? *inputs[value] : *steps[value - numInputs].node;
}

namespace dtorch {
/// Makes one capture. Notes are written into the nodes, so only one is made at
/// a time.
struct CaptureBuilder {
  CaptureBuilder(Capture &result, int64_t first)
      : result(result), first(first), guard(mutex) {
    id = ++lastId;
  }

  void run(std::span<const NodeRef> wanted) {
    collect(wanted);
    sort();
    numberOperands();
    markStored(wanted);
  }

private:
  /// The nodes to compute.
  void collect(std::span<const NodeRef> wanted) {
    std::vector<Node *> stack;
    for (const NodeRef &node : wanted)
      stack.push_back(node.get());
    while (!stack.empty()) {
      Node *node = stack.back();
      stack.pop_back();
      if (node->captureId == id)
        continue;
      node->captureId = id;
      node->captureUses = 0;
      node->captureNumber = unnumbered;
      if (isLeaf(*node))
        continue;
      for (const NodeRef &input : node->inputs())
        stack.push_back(input.get());
      result.steps.emplace_back().node = node;
    }
  }

  /// Oldest first. An operand is recorded before its result, so this is an
  /// order of computation. They come youngest first from a chain.
  void sort() {
    auto older = [](const Capture::Step &a, const Capture::Step &b) {
      return a.node->sequenceNumber < b.node->sequenceNumber;
    };
    std::reverse(result.steps.begin(), result.steps.end());
    if (!std::is_sorted(result.steps.begin(), result.steps.end(), older))
      std::sort(result.steps.begin(), result.steps.end(), older);
  }

  void numberOperands() {
    size_t count = 0;
    for (const Capture::Step &step : result.steps)
      for (const NodeRef &input : step.node->inputs()) {
        ++count;
        if (input->captureNumber == unnumbered && isLeaf(*input)) {
          input->captureNumber = static_cast<int64_t>(result.inputs.size());
          result.inputs.push_back(input.get());
        }
      }
    result.operandNumbers.reserve(count); // spans point into it
    for (Capture::Step &step : result.steps) {
      int64_t *begin =
          result.operandNumbers.data() + result.operandNumbers.size();
      for (const NodeRef &input : step.node->inputs()) {
        ++input->captureUses;
        result.operandNumbers.push_back(input->captureNumber);
      }
      step.operands = {begin, step.node->inputs().size()};
      step.node->captureNumber = result.valueOf(&step - result.steps.data());
    }
  }

  /// What the steps themselves do not account for, somebody else holds.
  void markStored(std::span<const NodeRef> wanted) {
    for (Capture::Step &step : result.steps)
      step.stored = step.node->useCount() > step.node->captureUses;
    for (const NodeRef &node : wanted)
      if (int64_t step = node->captureNumber - result.valueOf(0); step >= 0)
        result.steps[step].stored = true;
  }

  static constexpr int64_t unnumbered = -1;
  static inline std::mutex mutex;
  static inline int64_t lastId = 0;

  bool isLeaf(const Node &node) const {
    return node.computed() || node.isInput() || node.sequenceNumber < first;
  }

  Capture &result;
  const int64_t first;
  std::lock_guard<std::mutex> guard;
  int64_t id;
};
} // namespace dtorch

Capture dtorch::capture(std::span<const NodeRef> wanted, int64_t first) {
  Capture result;
  CaptureBuilder(result, first).run(wanted);
  return result;
}

std::vector<std::string> dtorch::argumentNames(const Capture &capture) {
  // Names that users gave go first; `owners` says to which value.
  std::unordered_map<std::string, int64_t> owners;
  auto identity = [](const Node &input) {
    return input.info().origin >= 0 ? input.info().origin : input.sequence();
  };
  for (const Node *input : capture.inputs)
    if (!input->info().name.empty())
      owners.try_emplace(input->info().name, identity(*input));

  std::vector<std::string> names;
  std::unordered_map<std::string, int64_t> counts;
  for (const Node *input : capture.inputs) {
    const std::string &given = input->info().name;
    auto owner = owners.find(given);
    if (owner != owners.end() && owner->second == identity(*input)) {
      names.push_back(given);
      continue;
    }
    std::string stem = !given.empty()      ? given + "_"
                       : input->parameter  ? "parameter"
                       : input->isScalar() ? "scalar"
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

namespace {
/// Numbers scopes in order of first use, each with its parent.
class ScopeNumbers {
public:
  explicit ScopeNumbers(std::vector<uint64_t> &words) : words(words) {}

  /// Steps of one call mostly follow each other.
  void add(const Scope *scope) {
    if (scope != last) {
      last = scope;
      lastNumber = scope ? numberOf(scope) : 0;
    }
    words.push_back(lastNumber);
  }

private:
  uint64_t numberOf(const Scope *scope) {
    auto [it, isNew] = numbers.try_emplace(scope, numbers.size() + 1);
    uint64_t number = it->second;
    if (isNew)
      words.push_back(scope->parent ? numberOf(scope->parent.get()) : 0);
    return number;
  }

  std::vector<uint64_t> &words;
  std::unordered_map<const Scope *, uint64_t> numbers;
  const Scope *last = nullptr;
  uint64_t lastNumber = 0;
};
} // namespace

/// A pointer to an object of at least eight bytes, with three flags.
static uint64_t wordOf(const void *object, bool a, bool b = false,
                       bool c = false) {
  return reinterpret_cast<uintptr_t>(object) | (a ? 1 : 0) | (b ? 2 : 0) |
         (c ? 4 : 0);
}

StructureKey dtorch::structureKey(const Capture &capture) {
  StructureKey key;
  key.words.reserve(capture.inputs.size() + capture.steps.size() * 4 + 1);
  key.words.push_back(capture.inputs.size());
  for (const Node *input : capture.inputs)
    key.words.push_back(wordOf(&input->valueTypeOf(), input->parameter));
  // Types and placements of the steps follow from those of the inputs. An op
  // settles how many operands follow.
  ScopeNumbers scopes(key.words);
  for (const Capture::Step &step : capture.steps) {
    const Node &node = *step.node;
    const OpUse *use = node.use().get();
    key.words.push_back(
        use ? wordOf(use, false, step.stored)
            : wordOf(&node.valueTypeOf(), true, step.stored, node.strict()));
    key.words.insert(key.words.end(), step.operands.begin(),
                     step.operands.end());
    scopes.add(node.scope().get());
  }
  for (uint64_t word : key.words) {
    key.hash = (key.hash ^ word) * 0x9e3779b97f4a7c15ull;
    key.hash ^= key.hash >> 32;
  }
  return key;
}

StructureRefs dtorch::structureRefs(const Capture &capture) {
  StructureRefs refs;
  for (const Node *input : capture.inputs)
    refs.types.push_back(input->typeRef());
  for (const Capture::Step &step : capture.steps) {
    refs.types.push_back(step.node->typeRef());
    if (step.node->use())
      refs.uses.push_back(step.node->use());
  }
  return refs;
}
