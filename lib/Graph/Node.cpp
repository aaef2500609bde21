//===- Node.cpp - a recorded value ----------------------------------------===//

#include "dtorch/Graph/Node.h"

#include <set>

using namespace dtorch;

//===----------------------------------------------------------------------===//
// Location
//===----------------------------------------------------------------------===//

Location Location::get(std::string_view file, int64_t line) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> files;
  std::lock_guard<std::mutex> guard(mutex);
  auto it = files.find(file);
  if (it == files.end())
    it = files.emplace(file).first;
  return {&*it, line};
}

std::string Location::str() const {
  return file ? *file + ":" + std::to_string(line) : std::string();
}

//===----------------------------------------------------------------------===//
// NodeRegistry
//===----------------------------------------------------------------------===//

void NodeRegistry::insert(Node &node) {
  std::lock_guard<std::mutex> guard(mutex);
  node.next = first;
  if (first)
    first->previous = &node;
  first = &node;
  ++count;
}

void NodeRegistry::erase(Node &node) {
  std::lock_guard<std::mutex> guard(mutex);
  (node.previous ? node.previous->next : first) = node.next;
  if (node.next)
    node.next->previous = node.previous;
  --count;
}

int64_t NodeRegistry::size() const {
  std::lock_guard<std::mutex> guard(mutex);
  return count;
}

std::vector<NodeRef> NodeRegistry::nodes() const {
  std::vector<NodeRef> result;
  std::lock_guard<std::mutex> guard(mutex);
  // A node on its way out waits for the mutex in its destructor; its weak
  // reference is empty by then.
  for (Node *node = first; node; node = node->next)
    if (NodeRef held = node->weak_from_this().lock())
      result.push_back(std::move(held));
  return result;
}

//===----------------------------------------------------------------------===//
// Node
//===----------------------------------------------------------------------===//

static std::atomic<int64_t> nextSequence{0};

Node::Node(Kind kind, ValueTypeRef type)
    : nodeKind(kind), sequenceNumber(nextSequence++),
      valueType(std::move(type)) {}

NodeRef Node::input(DistTensorRef value, Sharding written) {
  const BufferType &type = value->type;
  auto valueType = std::make_shared<ValueType>(
      ValueType{{type.shape, type.dtype}, std::move(written), type.sharding});
  NodeRef node(new Node(Kind::Input, std::move(valueType)));
  node->computedValue = std::move(value);
  return node;
}

NodeRef Node::scalar(double number, DistTensorRef value) {
  NodeRef node = input(std::move(value), Sharding::host());
  node->scalarNode = true;
  node->scalarNumber = number;
  return node;
}

/// Drops references one after the other. The last reference to the end of a
/// long chain would otherwise recurse once per node.
static void release(std::vector<NodeRef> nodes) {
  static thread_local std::vector<NodeRef> waiting;
  static thread_local bool draining = false;
  for (NodeRef &node : nodes)
    waiting.push_back(std::move(node));
  if (draining)
    return;
  draining = true;
  while (!waiting.empty()) {
    NodeRef node = std::move(waiting.back());
    waiting.pop_back();
    node.reset(); // may come back here and add its operands
  }
  draining = false;
}

Node::~Node() {
  if (registry)
    registry->erase(*this);
  if (!operands.empty())
    release(std::move(operands));
}

void Node::setValue(DistTensorRef value) {
  computedValue.store(std::move(value));
  release(std::move(operands));
  operands.clear();
}

std::string_view Node::opName() const {
  switch (nodeKind) {
  case Kind::Input:
    return "input";
  case Kind::Op:
    return opUse->op->name;
  case Kind::Redistribute:
    return "redistribute";
  }
  return "";
}
