//===- Graph.h - records ops lazily ---------------------------------------===//
#pragma once

#include "dtorch/Graph/Node.h"
#include "dtorch/Graph/OpForm.h"

namespace dtorch {

/// What happens where an op's operands match no row of its rule: the cheapest
/// change is inserted, or the call is an error.
enum class Mode : uint8_t { Auto, Strict };

/// Records ops as nodes and finds their errors at the call. Threads may record
/// into one graph; each has its own stack of module calls.
class Graph {
public:
  explicit Graph(Mode mode = Mode::Auto);
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  Mode mode() const { return recordMode.load(std::memory_order_relaxed); }
  void setMode(Mode mode) { recordMode.store(mode); }

  /// Records a compute op. Operands on the host join the mesh of the others as
  /// replicated. Throws Error with the location in front.
  NodeRef record(std::string_view op, std::vector<NodeRef> inputs, Attrs attrs,
                 Location location = {});
  /// The same for call sites that record one form again and again: costs a
  /// look-up by numbers and pointers. Moves the inputs away unless it throws.
  NodeRef record(const OpForm &form, std::span<const int64_t> numbers,
                 std::span<NodeRef> inputs, Location location);

  /// The same global value elsewhere: on the same mesh, from host to mesh or
  /// back. Gives `node` itself only when nothing changes. Between two meshes
  /// with devices it is an Error (Absent).
  NodeRef redistribute(const NodeRef &node, Sharding target,
                       Location location = {});

  /// Enters and leaves a module call, per thread.
  void pushScope(std::string path);
  void popScope();

  /// Recorded nodes that exist, computed or not.
  int64_t numLiveNodes() const;
  std::vector<NodeRef> liveNodes() const;
  /// Recorded nodes that somebody holds and that have no value yet, oldest
  /// first: what `sync` computes.
  std::vector<NodeRef> pendingNodes();

private:
  friend class Replay;
  NodeRef makeNode(Node::Kind kind, std::span<NodeRef> inputs,
                   Location location);
  NodeRef makeOp(OpUseRef use, std::span<NodeRef> inputs, Location location);
  ScopeRef currentScope() const;
  NodeRef recordOp(const OpInfo &op, std::vector<NodeRef> inputs, Attrs attrs,
                   Location location);

  std::atomic<Mode> recordMode;
  NodeRegistry *registry; ///< outlives the graph while nodes exist
  const int64_t id;       ///< of this graph in the stacks of module calls
};

} // namespace dtorch
