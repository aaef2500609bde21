//===- Node.h - a recorded value ------------------------------------------===//
//
// A node is one block of memory, taken from a list of the thread's own; its
// operands are inside. Types, ops and places are pointers to shared objects.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Graph/Location.h"
#include "dtorch/Graph/OpUse.h"
#include "dtorch/Runtime/Storage.h"

#include <memory>
#include <span>
#include <vector>

namespace dtorch {

class Node;
using NodeRef = Ref<Node>;
class NodeRegistry;

/// One call of a module. Every call is a scope of its own, also of the same
/// module; its path is absolute ("model.layers.0").
struct Scope {
  std::string path;
  std::shared_ptr<const Scope> parent;
};
using ScopeRef = std::shared_ptr<const Scope>;

/// A value: an input (a parameter is one), a recorded op or a redistribute.
///
/// Type, inputs and place are fixed when it is made; its value is filled in by
/// a flush, after which the inputs are dropped. References between nodes point
/// from results to operands only, so what nobody holds disappears at once.
class Node : public Counted<Node> {
public:
  enum class Kind : uint8_t { Input, Op, Redistribute };

  /// An input with its value. `written` is what the user asked for, the value
  /// lies in the normal form of it.
  static NodeRef input(DistTensorRef value, Sharding written);
  /// A 0-dim host input: a runtime operand, never part of a program's key.
  /// `bits` holds the number in the element type.
  static NodeRef scalar(double number, DType dtype, uint64_t bits);
  /// An input that never has a value: ops on it are recorded to be replayed.
  static NodeRef placeholder(ValueTypeRef type);

  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;

  Kind kind() const { return nodeKind; }
  bool isInput() const { return nodeKind == Kind::Input; }
  bool isScalar() const { return scalarNode; }
  /// The number of a scalar, and where it lies in the element type.
  double number() const { return scalarNumber; }
  const void *scalarData() const { return &scalarBits; }

  ValueTypeRef typeRef() const { return ValueTypeRef(valueType); }
  const ValueType &valueTypeOf() const { return *valueType; }
  const TensorType &type() const { return valueType->tensor; }
  const Sharding &sharding() const { return valueType->written; }
  const Sharding &normalSharding() const { return valueType->normal; }

  /// Null for inputs and redistributes.
  const OpUseRef &use() const { return opUse; }
  /// "linear", "redistribute" or "input": for messages.
  std::string_view opName() const;
  std::span<const NodeRef> inputs() const { return {operands, numOperands}; }
  const Location &location() const { return place; }
  const ScopeRef &scope() const { return moduleCall; }
  bool strict() const { return strictMode; }
  /// Grows with every node of the process, so operands come before results.
  int64_t sequence() const { return sequenceNumber; }
  /// The sequence number of the next node of the process.
  static int64_t nextSequence();

  /// Null until it is computed.
  DistTensorRef value() const;
  bool computed() const { return ready.load(std::memory_order_acquire); }
  /// Called by a flush, which computed it: nobody asks for the inputs again.
  void setValue(DistTensorRef value);

  bool parameter = false; ///< an input that belongs to a module

  /// What inputs may have besides.
  struct InputInfo {
    std::string name;    ///< of the argument in a dump
    int64_t version = 0; ///< of a parameter: counts `assign`
    /// Of a parameter: its values under other shardings, kept by the session
    /// so that each is computed once per version.
    std::vector<DistTensorRef> placedAgain;
    /// Of a parameter placed again: the sequence number of the parameter.
    int64_t origin = -1;
  };
  const InputInfo &info() const;
  InputInfo &editInfo();

private:
  friend class Counted<Node>;
  friend class Graph;
  friend class NodeRegistry;
  friend class Replay;
  friend struct CaptureBuilder;

  explicit Node(Kind kind);
  ~Node();
  static void *operator new(size_t size);
  static void operator delete(void *memory);
  void destroy() const;
  void setType(ValueTypeRef type);
  void takeOperands(std::span<NodeRef> nodes);
  void dropOperands();

  static constexpr uint32_t maxInline = 4;

  const Kind nodeKind;
  bool scalarNode = false;
  bool strictMode = false;
  std::atomic<bool> ready{false};
  uint32_t numOperands = 0;
  int64_t sequenceNumber;
  const ValueType *valueType = nullptr; ///< kept by `opUse`, or counted
  OpUseRef opUse;
  NodeRef *operands = nullptr; ///< in `few`, or on the heap
  alignas(NodeRef) std::byte few[maxInline * sizeof(NodeRef)];
  Location place;
  ScopeRef moduleCall;
  mutable DistTensorRef computedValue; ///< of scalars made when asked for
  uint64_t scalarBits = 0;
  double scalarNumber = 0;
  std::unique_ptr<InputInfo> inputInfo;

  // Room for captures, which are made one at a time (Capture.cpp).
  mutable int64_t captureId = 0; ///< of the capture that saw it last
  mutable int64_t captureNumber = 0, captureUses = 0;

  // Links of the registry's list; of the list of nodes about to leave.
  NodeRegistry *registry = nullptr;
  Node *previous = nullptr;
  mutable Node *next = nullptr;
};

} // namespace dtorch
