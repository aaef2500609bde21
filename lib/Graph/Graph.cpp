//===- Graph.cpp - records ops lazily -------------------------------------===//

#include "dtorch/Graph/Graph.h"
#include "NodeRegistry.h"
#include "dtorch/Sharding/RedistributePlan.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

using namespace dtorch;

//===----------------------------------------------------------------------===//
// Module calls
//===----------------------------------------------------------------------===//

namespace {
/// A module call that the thread is in, of the graph of that number.
struct ScopeEntry {
  int64_t graph;
  ScopeRef scope;
};
using ScopeStack = std::vector<ScopeEntry>;
} // namespace

/// Null outside of module calls, so that most threads have none to destroy.
static constinit thread_local ScopeStack *scopeStack = nullptr;

ScopeRef Graph::currentScope() const {
  if (scopeStack)
    for (auto it = scopeStack->rbegin(); it != scopeStack->rend(); ++it)
      if (it->graph == id)
        return it->scope;
  return nullptr;
}

void Graph::pushScope(std::string path) {
  ScopeRef parent = currentScope();
  if (!scopeStack)
    scopeStack = new ScopeStack;
  scopeStack->push_back({id, std::make_shared<const Scope>(
                                 Scope{std::move(path), std::move(parent)})});
}

void Graph::popScope() {
  if (scopeStack)
    for (auto it = scopeStack->rbegin(); it != scopeStack->rend(); ++it)
      if (it->graph == id) {
        scopeStack->erase(std::next(it).base());
        if (scopeStack->empty())
          delete std::exchange(scopeStack, nullptr);
        return;
      }
  throw Error("pop_scope: this thread is in no module call",
              ErrorKind::Runtime);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static int64_t nextId() {
  static std::atomic<int64_t> next{0};
  return next++;
}

Graph::Graph(Mode mode)
    : recordMode(mode), registry(new NodeRegistry), id(nextId()) {}

Graph::~Graph() { registry->dropGraph(); }

int64_t Graph::numLiveNodes() const { return registry->size(); }

std::vector<NodeRef> Graph::liveNodes() const { return registry->nodes(); }

NodeRef Graph::makeNode(Node::Kind kind, std::span<NodeRef> inputs,
                        Location location) {
  NodeRef node(new Node(kind));
  node->takeOperands(inputs);
  node->place = location;
  if (scopeStack)
    node->moduleCall = currentScope();
  node->strictMode = mode() == Mode::Strict;
  registry->insert(*node);
  return node;
}

NodeRef Graph::makeOp(OpUseRef use, std::span<NodeRef> inputs,
                      Location location) {
  NodeRef node = makeNode(Node::Kind::Op, inputs, location);
  node->valueType = use->result.get();
  node->opUse = std::move(use);
  return node;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The kind of a generic op; null for other ops.
static const std::string *kindOf(const OpInfo &op, const Attrs &attrs) {
  const AttrValue *kind = op.kinds.empty() ? nullptr : attrs.find("kind");
  return kind ? std::get_if<std::string>(kind) : nullptr;
}

/// Whether an operand's number makes a pending product or quotient wrong: the
/// devices that hold zeros would give 0 * infinity or 0 / 0, which is NaN.
static bool breaksPending(std::string_view kind, const Node &scalar,
                          bool isRhs) {
  if (!scalar.isScalar())
    return false;
  double number = scalar.number();
  if (kind == "mul")
    return !std::isfinite(number);
  return kind == "div" && isRhs && (number == 0 || !std::isfinite(number));
}

/// The operand of a mul or div that must be reduced first because of the other
/// one's number; -1 if none.
static int64_t operandToReduce(const OpInfo &op,
                               std::span<const NodeRef> inputs,
                               const Attrs &attrs) {
  const std::string *kind = kindOf(op, attrs);
  if (op.name != "binary" || inputs.size() != 2 || !kind)
    return -1;
  for (int64_t scalar : {0, 1})
    if (breaksPending(*kind, *inputs[scalar], scalar == 1) &&
        inputs[1 - scalar]->normalSharding().hasPartial())
      return 1 - scalar;
  return -1;
}

static Sharding reduced(Sharding sharding) {
  for (Placement &placement : sharding.placements)
    if (placement.isPartial())
      placement = Placement::replicate();
  return sharding;
}

NodeRef Graph::recordOp(const OpInfo &op, std::vector<NodeRef> inputs,
                        Attrs attrs, Location location) {
  bool strict = mode() == Mode::Strict;
  if (int64_t i = operandToReduce(op, inputs, attrs); i >= 0) {
    const Sharding &pending = inputs[i]->normalSharding();
    if (strict)
      throw Error(*kindOf(op, attrs) + ": a pending value must be reduced " +
                      "before it meets the number " +
                      std::to_string(inputs[1 - i]->number()) + ", got " +
                      pending.placementsStr() + "; redistribute it first",
                  ErrorKind::Placement);
    Sharding target = reduced(pending);
    inputs[i] = redistribute(inputs[i], std::move(target), location);
  }
  std::vector<ValueTypeRef> types;
  types.reserve(inputs.size());
  for (const NodeRef &input : inputs)
    types.push_back(input->typeRef());
  return makeOp(inferUse(op, std::move(types), std::move(attrs), strict),
                inputs, location);
}

NodeRef Graph::record(std::string_view name, std::vector<NodeRef> inputs,
                      Attrs attrs, Location location) {
  return withLocation(location, [&] {
    const OpInfo *op = lookupOp(name);
    if (!op)
      throw Error(std::string(name) + ": there is no op of this name");
    return recordOp(*op, std::move(inputs), std::move(attrs), location);
  });
}

/// Whether a number may meet a pending value.
static bool mixesNumberAndPending(std::span<const NodeRef> inputs) {
  return inputs.size() == 2 &&
         ((inputs[0]->isScalar() && inputs[1]->valueTypeOf().pending) ||
          (inputs[1]->isScalar() && inputs[0]->valueTypeOf().pending));
}

NodeRef Graph::record(const OpForm &form, std::span<const int64_t> numbers,
                      std::span<NodeRef> inputs, Location location) {
  return withLocation(location, [&] {
    if (form.scales && mixesNumberAndPending(inputs))
      return recordOp(form.op, {inputs.begin(), inputs.end()},
                      form.attrs(numbers), location);
    return makeOp(form.use(numbers, inputs, mode() == Mode::Strict), inputs,
                  location);
  });
}

//===----------------------------------------------------------------------===//
// Redistribute
//===----------------------------------------------------------------------===//

/// Whether a value may go from one place to another at all.
static void checkRedistribute(const Node &node, const Sharding &target,
                              const Sharding &normal) {
  const Sharding &source = node.normalSharding();
  if (source.isHost() || target.isHost()) {
    for (const Placement &placement : target.placements)
      if (placement.isPartial() && placement.reduce != ReduceKind::Sum)
        throw Error("redistribute: only a sum can be left pending, got " +
                        target.placementsStr(),
                    ErrorKind::Placement);
    return;
  }
  if (!sameMesh(source.mesh, target.mesh))
    throw Error("redistribute: moving between two meshes with devices is not "
                "available yet, got " +
                    source.mesh->str() + " to " + target.mesh->str(),
                ErrorKind::Absent);
  // Plans are kept, so the compiler finds this one again.
  planRedistribute(source, normal, node.type().shape,
                   itemSize(node.type().dtype));
}

NodeRef Graph::redistribute(const NodeRef &node, Sharding target,
                            Location location) {
  if (node->sharding() == target)
    return node;
  Sharding normal = withLocation(location, [&] {
    target.verify(node->type().shape);
    Sharding result = normalised(target, node->type().shape);
    checkRedistribute(*node, target, result);
    return result;
  });
  NodeRef inputs[] = {node};
  NodeRef result = makeNode(Node::Kind::Redistribute, inputs, location);
  result->setType(
      ValueType::get(node->type(), std::move(target), std::move(normal)));
  return result;
}

//===----------------------------------------------------------------------===//
// Holding
//===----------------------------------------------------------------------===//

std::vector<NodeRef> Graph::pendingNodes() {
  std::vector<NodeRef> nodes = registry->nodes();
  std::erase_if(nodes, [](const NodeRef &node) { return node->computed(); });
  // What only other pending nodes hold is computed on the way.
  std::unordered_map<const Node *, int64_t> uses;
  for (const NodeRef &node : nodes)
    for (const NodeRef &input : node->inputs())
      ++uses[input.get()];
  std::erase_if(nodes, [&](const NodeRef &node) {
    auto it = uses.find(node.get());
    return node.useCount() <= 1 + (it == uses.end() ? 0 : it->second);
  });
  std::sort(nodes.begin(), nodes.end(), [](const auto &a, const auto &b) {
    return a->sequence() < b->sequence();
  });
  return nodes;
}
