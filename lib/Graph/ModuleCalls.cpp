//===- ModuleCalls.cpp - repeated module calls become functions -----------===//
//
// 1. Group: the steps of each module call give a signature; calls of equal
//    signature form a group.
// 2. Choose: groups are visited from the largest call to the smallest; calls
//    inside a chosen call are out. A group with two calls left is chosen.
// 3. Build: one function per chosen group from its first call, then main.
//
//===----------------------------------------------------------------------===//

#include "dtorch/Graph/ModuleCalls.h"

#include "Key.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

using namespace dtorch;

namespace {

/// One module call: the steps recorded in it and in the calls it made.
struct Call {
  const Scope *scope = nullptr;
  int64_t parent = -1;
  std::vector<int64_t> steps;
  std::vector<int64_t> externals; ///< values from outside, in first-use order
  std::set<int64_t> results;      ///< positions in `steps` used outside
  int64_t group = -1;             ///< when chosen
};

/// Calls with one signature.
struct Group {
  std::vector<int64_t> calls; ///< in order of recording
  std::set<int64_t> results;  ///< union over the calls
  int64_t function = -1;
};

class Outliner {
public:
  explicit Outliner(const Capture &capture) : capture(capture) {}
  Outline run();

private:
  void findCalls();
  int64_t callOf(const Scope *scope);
  std::optional<std::string> describe(Call &call);
  void findResults();
  void chooseGroups();
  bool insideChosen(int64_t call, int64_t group) const;
  Outline::Function buildCallee(const Group &group);
  Outline::Function buildMain();
  int64_t chosenCallOf(int64_t step) const;
  void addCall(Outline::Function &function, int64_t call,
               std::unordered_map<int64_t, int64_t> &numbers);
  std::string uniqueName(std::string_view path);

  const Capture &capture;
  std::vector<Call> calls;
  std::unordered_map<const Scope *, int64_t> callNumbers;
  std::vector<int64_t> stepCalls; ///< innermost call of each step, or -1
  std::vector<Group> groups;
  std::set<std::string> names = {"main"};
  Outline outline;
};

} // namespace

//===----------------------------------------------------------------------===//
// Group
//===----------------------------------------------------------------------===//

int64_t Outliner::callOf(const Scope *scope) {
  if (!scope)
    return -1;
  if (auto it = callNumbers.find(scope); it != callNumbers.end())
    return it->second;
  int64_t parent = callOf(scope->parent.get());
  int64_t number = static_cast<int64_t>(calls.size());
  calls.push_back({scope, parent, {}, {}, {}, -1});
  callNumbers[scope] = number;
  return number;
}

void Outliner::findCalls() {
  for (size_t i = 0; i < capture.steps.size(); ++i) {
    int64_t call = callOf(capture.steps[i].node->scope().get());
    stepCalls.push_back(call);
    for (; call >= 0; call = calls[call].parent)
      calls[call].steps.push_back(static_cast<int64_t>(i));
  }
}

/// What a call sees of a value from outside: its type and mesh, and of a
/// parameter its placements. Those of other values may differ from call to
/// call; the passes then make a copy of the function.
static void addExternal(Key &key, const Node &node) {
  key.add(int64_t(node.type().dtype));
  key.add(std::span<const int64_t>(node.type().shape));
  if (node.parameter)
    key.add(node.normalSharding());
  else
    key.add(std::string_view(node.normalSharding().mesh->str()));
}

/// Fills in what the call takes from outside, and gives its signature. Nothing
/// if the call cannot be one function: something that it needs is computed
/// outside after it began (threads that record at once can do that).
std::optional<std::string> Outliner::describe(Call &call) {
  Key key;
  std::unordered_map<int64_t, int64_t> inside, outside;
  for (int64_t step : call.steps) {
    key.addOp(*capture.steps[step].node);
    for (int64_t operand : capture.steps[step].operands) {
      if (auto it = inside.find(operand); it != inside.end()) {
        key.add(it->second);
        continue;
      }
      auto [it, isNew] = outside.try_emplace(operand, outside.size());
      key.add(-1 - it->second);
      if (!isNew)
        continue;
      if (operand > capture.valueOf(call.steps.front()))
        return std::nullopt;
      call.externals.push_back(operand);
      addExternal(key, capture.node(operand));
    }
    inside.try_emplace(capture.valueOf(step), inside.size());
  }
  return std::move(key.text);
}

void Outliner::findResults() {
  auto markUsed = [&](int64_t value, int64_t user) {
    int64_t step = value - capture.valueOf(0);
    if (step < 0)
      return;
    // A value leaves every call around it that its user is not in.
    std::unordered_set<int64_t> around;
    for (int64_t call = user; call >= 0; call = calls[call].parent)
      around.insert(call);
    for (int64_t call = stepCalls[step]; call >= 0 && !around.count(call);
         call = calls[call].parent) {
      const std::vector<int64_t> &steps = calls[call].steps;
      calls[call].results.insert(
          std::lower_bound(steps.begin(), steps.end(), step) - steps.begin());
    }
  };
  for (size_t i = 0; i < capture.steps.size(); ++i) {
    for (int64_t operand : capture.steps[i].operands)
      markUsed(operand, stepCalls[i]);
    if (capture.steps[i].stored)
      markUsed(capture.valueOf(static_cast<int64_t>(i)), -1);
  }
}

//===----------------------------------------------------------------------===//
// Choose
//===----------------------------------------------------------------------===//

/// Whether a call around this one, or in `group` itself, is chosen already.
bool Outliner::insideChosen(int64_t call, int64_t group) const {
  for (int64_t c = calls[call].parent; c >= 0; c = calls[c].parent)
    if (calls[c].group >= 0)
      return true;
  return calls[call].group >= 0 && calls[call].group != group;
}

void Outliner::chooseGroups() {
  std::map<std::string, size_t> bySignature;
  std::vector<std::vector<int64_t>> candidates;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].steps.size() < 2)
      continue;
    std::optional<std::string> signature = describe(calls[i]);
    if (!signature)
      continue;
    auto [it, isNew] =
        bySignature.try_emplace(std::move(*signature), candidates.size());
    if (isNew)
      candidates.emplace_back();
    candidates[it->second].push_back(static_cast<int64_t>(i));
  }
  // Where sizes are equal, outer calls come before those that they made.
  std::sort(candidates.begin(), candidates.end(),
            [&](const auto &a, const auto &b) {
              size_t sizeA = calls[a.front()].steps.size();
              size_t sizeB = calls[b.front()].steps.size();
              return sizeA != sizeB ? sizeA > sizeB : a.front() < b.front();
            });
  for (const std::vector<int64_t> &members : candidates) {
    int64_t number = static_cast<int64_t>(groups.size());
    Group group;
    for (int64_t call : members)
      if (!insideChosen(call, number)) {
        calls[call].group = number;
        group.calls.push_back(call);
      }
    if (group.calls.size() < 2) {
      for (int64_t call : group.calls)
        calls[call].group = -1;
      continue;
    }
    for (int64_t call : group.calls)
      group.results.insert(calls[call].results.begin(),
                           calls[call].results.end());
    groups.push_back(std::move(group));
  }
}

//===----------------------------------------------------------------------===//
// Build
//===----------------------------------------------------------------------===//

/// "model.layers.0" gives "layers": the last part that is not a number.
std::string Outliner::uniqueName(std::string_view path) {
  std::string name;
  while (!path.empty() && name.empty()) {
    size_t dot = path.rfind('.');
    std::string_view part =
        dot == std::string_view::npos ? path : path.substr(dot + 1);
    if (!std::all_of(part.begin(), part.end(), ::isdigit))
      name = part;
    path = dot == std::string_view::npos ? "" : path.substr(0, dot);
  }
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c)))
      c = '_';
  if (name.empty() || isdigit(static_cast<unsigned char>(name.front())))
    name = "module" + name;
  std::string unique = name;
  for (int64_t i = 1; !names.insert(unique).second; ++i)
    unique = name + "_" + std::to_string(i);
  return unique;
}

/// The function of a group, from its first call.
Outline::Function Outliner::buildCallee(const Group &group) {
  const Call &call = calls[group.calls.front()];
  Outline::Function function;
  function.name = uniqueName(call.scope->path);
  std::unordered_map<int64_t, int64_t> numbers;
  for (int64_t external : call.externals) {
    numbers[external] = static_cast<int64_t>(numbers.size());
    function.arguments.push_back(&capture.node(external));
  }
  for (int64_t step : call.steps) {
    Outline::Item item;
    item.step = step;
    for (int64_t operand : capture.steps[step].operands)
      item.operands.push_back(numbers.at(operand));
    numbers[capture.valueOf(step)] = static_cast<int64_t>(numbers.size());
    function.items.push_back(std::move(item));
  }
  for (int64_t position : group.results)
    function.results.push_back(
        numbers.at(capture.valueOf(call.steps[position])));
  return function;
}

int64_t Outliner::chosenCallOf(int64_t step) const {
  for (int64_t call = stepCalls[step]; call >= 0; call = calls[call].parent)
    if (calls[call].group >= 0)
      return call;
  return -1;
}

void Outliner::addCall(Outline::Function &function, int64_t number,
                       std::unordered_map<int64_t, int64_t> &numbers) {
  const Call &call = calls[number];
  const Group &group = groups[call.group];
  Outline::Item item;
  item.function = group.function;
  item.modulePath = call.scope->path;
  item.location = capture.steps[call.steps.front()].node->location();
  for (int64_t external : call.externals)
    item.operands.push_back(numbers.at(external));
  item.numResults = static_cast<int64_t>(group.results.size());
  for (int64_t position : group.results)
    numbers[capture.valueOf(call.steps[position])] =
        static_cast<int64_t>(numbers.size());
  function.items.push_back(std::move(item));
}

Outline::Function Outliner::buildMain() {
  Outline::Function function;
  function.name = "main";
  std::unordered_map<int64_t, int64_t> numbers;
  for (size_t i = 0; i < capture.inputs.size(); ++i) {
    numbers[static_cast<int64_t>(i)] = static_cast<int64_t>(i);
    function.arguments.push_back(capture.inputs[i]);
  }
  std::unordered_set<int64_t> done;
  for (size_t i = 0; i < capture.steps.size(); ++i) {
    int64_t step = static_cast<int64_t>(i);
    if (int64_t call = chosenCallOf(step); call >= 0) {
      if (done.insert(call).second)
        addCall(function, call, numbers);
      continue;
    }
    Outline::Item item;
    item.step = step;
    for (int64_t operand : capture.steps[i].operands)
      item.operands.push_back(numbers.at(operand));
    numbers[capture.valueOf(step)] = static_cast<int64_t>(numbers.size());
    function.items.push_back(std::move(item));
  }
  for (size_t i = 0; i < capture.steps.size(); ++i)
    if (capture.steps[i].stored)
      function.results.push_back(
          numbers.at(capture.valueOf(static_cast<int64_t>(i))));
  return function;
}

Outline Outliner::run() {
  findCalls();
  findResults();
  chooseGroups();
  // Functions stand in the order of their first calls.
  std::vector<Group *> order;
  for (Group &group : groups)
    order.push_back(&group);
  std::sort(order.begin(), order.end(), [](const Group *a, const Group *b) {
    return a->calls.front() < b->calls.front();
  });
  for (Group *group : order) {
    group->function = static_cast<int64_t>(outline.functions.size());
    outline.functions.push_back(buildCallee(*group));
  }
  outline.functions.push_back(buildMain());
  return std::move(outline);
}

Outline dtorch::outlineModuleCalls(const Capture &capture) {
  return Outliner(capture).run();
}
