//===- Capture.h - what one flush computes --------------------------------===//
#pragma once

#include "dtorch/Graph/Node.h"

namespace dtorch {

/// The part of the recorded graph that a flush computes: the ancestors of the
/// wanted nodes without a value, in the order of recording. Operands are
/// numbers: input i is i, step j is inputs.size() + j.
struct Capture {
  struct Step {
    NodeRef node;
    std::vector<int64_t> operands;
    /// Stored by the program: wanted, or still held by somebody.
    bool stored = false;
  };
  std::vector<NodeRef> inputs; ///< nodes with a value, in order of first use
  std::vector<DistTensorRef> values; ///< their values when captured
  std::vector<Step> steps;

  int64_t valueOf(int64_t step) const {
    return static_cast<int64_t>(inputs.size()) + step;
  }
  /// The node of a value number.
  const Node &node(int64_t value) const;
};

/// Collects what the wanted nodes need. A step that somebody else holds is
/// stored too, which never changes what is computed. Iterative, so the length
/// of a chain does not matter.
Capture capture(std::span<const NodeRef> wanted);

/// Names of the inputs as arguments of a program: their own, or `input0`, …,
/// `scalar0`, … and `parameter0`, … in order of first use. All differ, but for
/// one parameter under several shardings, which is one tensor of a file.
std::vector<std::string> argumentNames(const Capture &capture);

/// A text that is equal for captures that one program serves: ops, attributes,
/// wiring, types, shardings, strictness, module calls, what is stored. Values,
/// names and locations are not in it.
std::string structureKey(const Capture &capture);

} // namespace dtorch
