//===- MemoryPlan.h - offsets for values that live for a while ------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace dtorch {

/// Bytes wanted from one instruction to another, both included.
struct MemoryRequest {
  int64_t bytes;
  int64_t first, last;
  int64_t offset = -1; ///< set by planMemory
};

/// Sets offsets so that requests that live at one time do not overlap, and
/// returns the bytes needed in all. Largest first (ties: earliest), each in the
/// smallest gap between those it meets that holds it, else after them: a
/// best-fit heuristic, within a few percent of the lower bound on the graphs of
/// neural networks. `bytes` must be multiples of the wanted alignment.
/// Source: Pisarchyk and Lee, Efficient memory management for deep neural net
/// inference, 2020 ("greedy by size").
int64_t planMemory(std::vector<MemoryRequest> &requests);

} // namespace dtorch
