//===- Broadcast.cpp - loops over broadcast operands ----------------------===//
#include "dtorch/Runtime/CPU/Broadcast.h"

namespace dtorch::cpu {

template <size_t N> BroadcastLoops<N>::BroadcastLoops(const KernelSpec &spec) {
  const Shape &shape = spec.outputs[0].local();
  empty = spec.outputs[0].box.empty();
  std::array<Shape, N> strides;
  for (size_t i = 0; i < N; ++i)
    strides[i] = broadcastStrides(spec.inputs[i], shape.size());
  /// Whether dim d goes on where the dim merged last ends, in every operand.
  auto continues = [&](size_t d) {
    for (size_t i = 0; i < N; ++i) {
      int64_t span = sizes.empty() ? (moves[i] ? inner : 0)
                                   : steps[i].back() * sizes.back();
      if (strides[i][d] != span)
        return false;
    }
    return true;
  };
  bool first = true;
  for (size_t d = shape.size(); d-- > 0 && !empty;) {
    if (shape[d] == 1)
      continue;
    if (first) {
      inner = shape[d];
      for (size_t i = 0; i < N; ++i)
        moves[i] = strides[i][d] != 0;
      first = false;
    } else if (continues(d)) {
      (sizes.empty() ? inner : sizes.back()) *= shape[d];
    } else {
      sizes.push_back(shape[d]);
      for (size_t i = 0; i < N; ++i)
        steps[i].push_back(strides[i][d]);
    }
  }
  std::reverse(sizes.begin(), sizes.end());
  for (Shape &list : steps)
    std::reverse(list.begin(), list.end());
}

template struct BroadcastLoops<2>;
template struct BroadcastLoops<3>;

} // namespace dtorch::cpu
