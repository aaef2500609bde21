//===- Node.h - a recorded value ------------------------------------------===//
#pragma once

#include "dtorch/Ops/OpTable.h"
#include "dtorch/Runtime/Storage.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace dtorch {

class Node;
using NodeRef = std::shared_ptr<Node>;

/// A line of the user's program. File names are interned, so that a node costs
/// a pointer and a number.
struct Location {
  const std::string *file = nullptr; ///< null: unknown
  int64_t line = 0;

  static Location get(std::string_view file, int64_t line);
  /// "model.py:17", empty if unknown.
  std::string str() const;
  bool operator==(const Location &) const = default;
};

/// Runs `body`; an Error that it throws gets "model.py:17: error: " in front.
template <typename Body>
auto withLocation(const Location &location, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error &error) {
    if (!location.file)
      throw;
    throw Error(location.str() + ": error: " + error.what(), error.kind);
  }
}

/// One call of a module. Every call is a scope of its own, also of the same
/// module; its path is absolute ("model.layers.0").
struct Scope {
  std::string path;
  std::shared_ptr<const Scope> parent;
};
using ScopeRef = std::shared_ptr<const Scope>;

/// Global type and place of a value; shared by the nodes that infer the same.
struct ValueType {
  TensorType tensor;
  Sharding written; ///< as the user or a layer wrote it
  Sharding normal;  ///< the normal form that rules and IR see
};
using ValueTypeRef = std::shared_ptr<const ValueType>;

/// An op on operands of given types and places, with what follows from them.
/// Nodes that record the same share one (see Inference.h).
struct OpUse {
  const OpInfo *op = nullptr;
  Attrs attrs;
  std::vector<ValueTypeRef> operands;
  bool strict = false;
  ValueTypeRef result;
};
using OpUseRef = std::shared_ptr<const OpUse>;

/// The nodes that a graph recorded and that still exist. Nodes enter and leave
/// it by themselves; it never keeps one alive.
class NodeRegistry {
public:
  void insert(Node &node);
  void erase(Node &node);
  int64_t size() const;
  /// References to all of them, in no order.
  std::vector<NodeRef> nodes() const;

private:
  mutable std::mutex mutex;
  Node *first = nullptr;
  int64_t count = 0;
};

/// A value: an input (a parameter is one), a recorded op or a redistribute.
///
/// Type, inputs and place are fixed when it is made; its value is filled in by
/// a flush, after which the inputs are dropped. References between nodes point
/// from results to operands only, so what nobody holds disappears at once.
class Node : public std::enable_shared_from_this<Node> {
public:
  enum class Kind : uint8_t { Input, Op, Redistribute };

  /// An input with its value. `written` is what the user asked for, the value
  /// lies in the normal form of it.
  static NodeRef input(DistTensorRef value, Sharding written);
  /// A 0-dim host input: a runtime operand, never part of a program's key.
  static NodeRef scalar(double number, DistTensorRef value);

  ~Node();
  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;

  Kind kind() const { return nodeKind; }
  bool isInput() const { return nodeKind == Kind::Input; }
  bool isScalar() const { return scalarNode; }
  /// The number of a scalar.
  double number() const { return scalarNumber; }

  const ValueTypeRef &typeRef() const { return valueType; }
  const TensorType &type() const { return valueType->tensor; }
  const Sharding &sharding() const { return valueType->written; }
  const Sharding &normalSharding() const { return valueType->normal; }

  /// Null for inputs and redistributes.
  const OpUseRef &use() const { return opUse; }
  /// "linear", "redistribute" or "input": for messages.
  std::string_view opName() const;
  const std::vector<NodeRef> &inputs() const { return operands; }
  const Location &location() const { return place; }
  const ScopeRef &scope() const { return moduleCall; }
  bool strict() const { return strictMode; }
  /// Grows with every node of the process, so operands come before results.
  int64_t sequence() const { return sequenceNumber; }

  DistTensorRef value() const { return computedValue.load(); }
  bool computed() const { return value() != nullptr; }
  /// Called by a flush, which computed it: nobody asks for the inputs again.
  void setValue(DistTensorRef value);

  std::string name;       ///< of the argument in a dump
  bool parameter = false; ///< an input that belongs to a module
  int64_t version = 0;    ///< of a parameter: counts `assign`
  /// Of a parameter: its values under other shardings, kept by the session so
  /// that each is computed once per version.
  std::vector<DistTensorRef> placedAgain;
  /// Of a parameter placed again: the sequence number of the parameter.
  int64_t origin = -1;

private:
  friend class Graph;
  friend class NodeRegistry;
  Node(Kind kind, ValueTypeRef type);

  Kind nodeKind;
  bool scalarNode = false;
  bool strictMode = false;
  double scalarNumber = 0;
  int64_t sequenceNumber;
  ValueTypeRef valueType;
  OpUseRef opUse;
  std::vector<NodeRef> operands;
  Location place;
  ScopeRef moduleCall;
  std::atomic<DistTensorRef> computedValue;

  // Links of the registry's list.
  std::shared_ptr<NodeRegistry> registry;
  Node *previous = nullptr, *next = nullptr;
};

} // namespace dtorch
