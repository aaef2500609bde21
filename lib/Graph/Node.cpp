//===- Node.cpp - a recorded value ----------------------------------------===//

#include "dtorch/Graph/Node.h"

#include "NodeRegistry.h"

#include <cstring>
#include <mutex>

using namespace dtorch;

//===----------------------------------------------------------------------===//
// NodeRegistry
//===----------------------------------------------------------------------===//

void NodeRegistry::insert(Node &node) {
  node.registry = this;
  std::lock_guard guard(spin);
  node.next = first;
  if (first)
    first->previous = &node;
  first = &node;
  ++count;
}

void NodeRegistry::erase(Node &node) {
  bool last;
  {
    std::lock_guard guard(spin);
    (node.previous ? node.previous->next : first) = node.next;
    if (node.next)
      node.next->previous = node.previous;
    last = --count == 0 && !graphExists;
  }
  if (last)
    delete this;
}

void NodeRegistry::dropGraph() {
  bool last;
  {
    std::lock_guard guard(spin);
    graphExists = false;
    last = count == 0;
  }
  if (last)
    delete this;
}

int64_t NodeRegistry::size() const {
  std::lock_guard guard(spin);
  return count;
}

std::vector<NodeRef> NodeRegistry::nodes() const {
  std::vector<NodeRef> result;
  result.reserve(static_cast<size_t>(size()));
  std::lock_guard guard(spin);
  // A node on its way out waits to leave the list; nobody finds it any more.
  for (Node *node = first; node; node = node->next)
    if (node->retainIfAlive())
      result.push_back(NodeRef::adopt(node));
  return result;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// What a thread keeps between nodes.
struct ThreadState {
  struct Block {
    Block *next;
  };
  Block *freeBlocks = nullptr; ///< of nodes that left, for the next ones
  int64_t numFree = 0;
  Node *leaving = nullptr; ///< nodes that nobody holds any more
  bool draining = false;
};
} // namespace

/// Beyond so many, blocks go back: 4 MB.
static constexpr int64_t maxFreeBlocks = 1 << 14;
/// Without a destructor, so that using it costs no check.
static constinit thread_local ThreadState threadState;

namespace {
/// Gives the blocks back when the thread ends.
struct FreeBlocksOwner {
  bool used = false;
  ~FreeBlocksOwner() {
    while (ThreadState::Block *block = threadState.freeBlocks) {
      threadState.freeBlocks = block->next;
      ::operator delete(block);
    }
    threadState.numFree = maxFreeBlocks; // later ones go back at once
  }
};
} // namespace
static thread_local FreeBlocksOwner freeBlocksOwner;

void *Node::operator new(size_t size) {
  ThreadState &state = threadState;
  if (ThreadState::Block *block = state.freeBlocks) {
    state.freeBlocks = block->next;
    --state.numFree;
    return block;
  }
  freeBlocksOwner.used = true; // so that its destructor runs
  return ::operator new(size);
}

void Node::operator delete(void *memory) {
  ThreadState &state = threadState;
  if (state.numFree >= maxFreeBlocks)
    return ::operator delete(memory);
  auto *block = static_cast<ThreadState::Block *>(memory);
  block->next = state.freeBlocks;
  state.freeBlocks = block;
  ++state.numFree;
}

//===----------------------------------------------------------------------===//
// Making
//===----------------------------------------------------------------------===//

static std::atomic<int64_t> sequences{0};

int64_t Node::nextSequence() { return sequences.load(); }

Node::Node(Kind kind)
    : nodeKind(kind),
      sequenceNumber(sequences.fetch_add(1, std::memory_order_relaxed)) {}

void Node::setType(ValueTypeRef type) {
  valueType = type.get();
  valueType->retain(); // until the destructor
}

void Node::takeOperands(std::span<NodeRef> nodes) {
  numOperands = static_cast<uint32_t>(nodes.size());
  void *room = nodes.size() <= maxInline
                   ? few
                   : ::operator new(nodes.size() * sizeof(NodeRef));
  operands = static_cast<NodeRef *>(room);
  std::uninitialized_move(nodes.begin(), nodes.end(), operands);
}

NodeRef Node::input(DistTensorRef value, Sharding written) {
  const BufferType &type = value->type;
  NodeRef node(new Node(Kind::Input));
  node->setType(ValueType::get({type.shape, type.dtype}, std::move(written),
                               type.sharding));
  node->computedValue = std::move(value);
  node->ready.store(true, std::memory_order_release);
  return node;
}

NodeRef Node::scalar(double number, DType dtype, uint64_t bits) {
  NodeRef node(new Node(Kind::Input));
  node->setType(ValueType::scalar(dtype));
  node->scalarNode = true;
  node->scalarNumber = number;
  node->scalarBits = bits;
  node->ready.store(true, std::memory_order_release);
  return node;
}

NodeRef Node::placeholder(ValueTypeRef type) {
  NodeRef node(new Node(Kind::Input));
  node->setType(std::move(type));
  return node;
}

const Node::InputInfo &Node::info() const {
  static const auto *none = new InputInfo;
  return inputInfo ? *inputInfo : *none;
}

Node::InputInfo &Node::editInfo() {
  if (!inputInfo)
    inputInfo = std::make_unique<InputInfo>();
  return *inputInfo;
}

//===----------------------------------------------------------------------===//
// Leaving
//===----------------------------------------------------------------------===//

/// The last reference to the end of a long chain would recurse once per node,
/// so nodes line up and leave one after the other.
void Node::destroy() const {
  auto *node = const_cast<Node *>(this);
  if (node->registry)
    node->registry->erase(*node);
  ThreadState &state = threadState;
  node->next = state.leaving;
  state.leaving = node;
  if (state.draining)
    return;
  state.draining = true;
  while ((node = state.leaving)) {
    state.leaving = node->next;
    delete node; // may put its operands in the line
  }
  state.draining = false;
}

void Node::dropOperands() {
  NodeRef *nodes = std::exchange(operands, nullptr);
  uint32_t count = std::exchange(numOperands, 0);
  std::destroy_n(nodes, count);
  if (count > maxInline)
    ::operator delete(nodes);
}

Node::~Node() {
  dropOperands();
  if (!opUse && valueType)
    valueType->drop();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

DistTensorRef Node::value() const {
  if (!computed())
    return nullptr;
  if (!scalarNode)
    return computedValue;
  static std::mutex mutex;
  std::lock_guard guard(mutex);
  if (!computedValue) {
    auto tensor = std::make_shared<DistTensor>();
    tensor->type = {{}, type().dtype, Sharding::host()};
    tensor->locals.push_back(
        Storage::allocate(static_cast<size_t>(itemSize(type().dtype))));
    std::memcpy(tensor->locals[0]->data(), &scalarBits,
                static_cast<size_t>(itemSize(type().dtype)));
    computedValue = std::move(tensor);
  }
  return computedValue;
}

void Node::setValue(DistTensorRef value) {
  computedValue = std::move(value);
  ready.store(true, std::memory_order_release);
  dropOperands();
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
