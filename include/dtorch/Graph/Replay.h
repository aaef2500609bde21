//===- Replay.h - ops recorded once, and again with other inputs ----------===//
#pragma once

#include "dtorch/Graph/Capture.h"
#include "dtorch/Graph/Graph.h"

namespace dtorch {

/// The ops between some outputs and what they start from, kept without their
/// nodes, so that they can be recorded again at the cost of making nodes.
class Replay {
public:
  /// Takes the ops that the outputs need and that were recorded from `first` on
  /// (a sequence number). The inputs are what they start from: values,
  /// placeholders, and nodes recorded before.
  Replay(std::span<const NodeRef> outputs, int64_t first);

  /// Kept alive, in order of first use.
  const std::vector<NodeRef> &inputs() const { return inputNodes; }

  /// Inputs that are seed and offset of a random op, one pair an op.
  const std::vector<std::pair<int64_t, int64_t>> &randomKeys() const {
    return keys;
  }

  /// Records the ops on other inputs, of equal types; gives the outputs.
  std::vector<NodeRef> record(Graph &graph,
                              std::span<const NodeRef> inputs) const;

private:
  struct Step {
    OpUseRef use;      ///< null for a redistribute
    ValueTypeRef type; ///< of a redistribute
    bool strict;
    std::vector<int64_t> operands; ///< numbers of values: inputs, then steps
    Location location;
    int64_t scope; ///< number in `scopes`, or -1
  };
  /// Module calls; a parent stands before its children.
  struct ScopeEntry {
    std::string path;
    int64_t parent;
  };

  void addScopes(const Capture &capture);
  void findKeys();
  std::vector<ScopeRef> newScopes(const ScopeRef &outer) const;

  std::vector<NodeRef> inputNodes;
  std::vector<Step> steps;
  std::vector<ScopeEntry> scopes;
  std::vector<int64_t> outputs; ///< numbers of values
  std::vector<std::pair<int64_t, int64_t>> keys;
};

} // namespace dtorch
