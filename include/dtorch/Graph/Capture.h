//===- Capture.h - what one flush computes --------------------------------===//
#pragma once

#include "dtorch/Graph/Node.h"

namespace dtorch {

/// The part of the recorded graph that a flush computes: the ancestors of the
/// wanted nodes without a value, in the order of recording. Operands are
/// numbers: input i is i, step j is inputs.size() + j.
///
/// It does not keep nodes alive. The wanted nodes do, until the first of the
/// steps gets its value; then each step keeps the ones before it.
struct Capture {
  struct Step {
    Node *node = nullptr;
    /// Stored by the program: wanted, or still held by somebody.
    bool stored = false;
    std::span<const int64_t> operands;
  };
  /// Nodes with a value (or that wait for one: Node::placeholder), in order of
  /// first use.
  std::vector<Node *> inputs;
  std::vector<Step> steps;

  Capture() = default;
  Capture(Capture &&) = default;
  Capture &operator=(Capture &&) = default;

  int64_t valueOf(int64_t step) const {
    return static_cast<int64_t>(inputs.size()) + step;
  }
  /// The node of a value number.
  const Node &node(int64_t value) const;

private:
  friend struct CaptureBuilder;
  std::vector<int64_t> operandNumbers; ///< of all steps
};

/// Collects what the wanted nodes need. A step that somebody else holds is
/// stored too, which never changes what is computed. Iterative, so the length
/// of a chain does not matter.
///
/// Nodes recorded before the sequence number `first` are inputs as well.
Capture capture(std::span<const NodeRef> wanted, int64_t first = 0);

/// Names of the inputs as arguments of a program: their own, or `input0`, …,
/// `scalar0`, … and `parameter0`, … in order of first use. All differ, but for
/// one parameter under several shardings, which is one tensor of a file.
std::vector<std::string> argumentNames(const Capture &capture);

/// What is equal for captures that one program serves: ops, attributes, wiring,
/// types, shardings, strictness, module calls, what is stored. Values, names
/// and locations are not in it.
///
/// Ops and types are pointers to their shared objects, so a key is compared in
/// a few instructions an op. Whoever keeps a key keeps these alive
/// (StructureRefs).
struct StructureKey {
  std::vector<uint64_t> words;
  uint64_t hash = 0;
  bool operator==(const StructureKey &other) const {
    return hash == other.hash && words == other.words;
  }
};
StructureKey structureKey(const Capture &capture);

/// Keeps the objects alive that a key points to.
struct StructureRefs {
  std::vector<ValueTypeRef> types;
  std::vector<OpUseRef> uses;
};
StructureRefs structureRefs(const Capture &capture);

} // namespace dtorch
