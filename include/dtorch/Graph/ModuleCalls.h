//===- ModuleCalls.h - repeated module calls become functions -------------===//
#pragma once

#include "dtorch/Graph/Capture.h"

namespace dtorch {

/// A capture cut into functions. In a function, values are numbered: arguments
/// first, then the results of its items in order.
struct Outline {
  struct Item {
    int64_t step = -1;     ///< an op: number of the capture's step; or
    int64_t function = -1; ///< a call of that function
    std::vector<int64_t> operands;
    int64_t numResults = 1;
    std::string modulePath; ///< of a call
    Location location;      ///< of a call: that of its first op
  };
  struct Function {
    std::string name;
    /// Nodes of the arguments (of a repeated call: those of the first one).
    std::vector<const Node *> arguments;
    std::vector<Item> items;
    std::vector<int64_t> results;
  };
  /// Callees first; the last one is "main", whose arguments are the inputs of
  /// the capture and whose results its stored steps in order.
  std::vector<Function> functions;
};

/// Finds module calls that repeat (same ops, attributes, wiring, types and
/// meshes, same placements of redistributes and parameters) and makes them one
/// function. Outermost calls win, so a decoder layer is one function and not
/// its projections; calls inside one that does not repeat are found too. A call
/// of fewer than two ops stays where it is.
Outline outlineModuleCalls(const Capture &capture);

} // namespace dtorch
