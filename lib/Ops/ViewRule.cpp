//===- ViewRule.cpp - view ------------------------------------------------===//
//
// Dims fall into the smallest groups of equal product; a group is one factor
// whose fine elements are the elements of the group:
//
//   (4, 6, 8) -> (24, 2, 4)     groups (4 6 | 24), (8 | 2 4)
//
// Only the outermost dim of a group can be sharded: consecutive fine elements
// are consecutive in memory. Dims of size 1 belong to no group; where both
// sides have one at the same place they correspond to each other, so that a
// sharded batch of one sample stays sharded.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace dtorch;

namespace {

class ViewGroups {
public:
  ViewGroups(const OpCall &call, RuleBuilder &builder)
      : in(call.operands[0].shape), out(builder.rule.resultShapes[0]),
        builder(builder) {}

  void correspond() {
    if (numElements(in) == 0)
      return correspondEmpty();
    size_t i = 0, j = 0;
    while (i < in.size() || j < out.size()) {
      bool inOne = i < in.size() && in[i] == 1;
      bool outOne = j < out.size() && out[j] == 1;
      if (inOne && outOne)
        addPair(i++, j++, 1);
      else if (inOne)
        ++i;
      else if (outOne)
        ++j;
      else
        addGroup(i, j);
    }
  }

private:
  /// One factor of `size` elements with outermost dims i and j.
  void addPair(size_t i, size_t j, int64_t size) {
    int64_t factor = builder.addFactor("g" + std::to_string(i), size);
    builder.setOperand(0, i, factor, size / in[i]);
    builder.setResult(j, factor, size / out[j]);
  }

  /// Takes dims from both sides until their products are equal.
  void addGroup(size_t &i, size_t &j) {
    size_t firstIn = i, firstOut = j;
    int64_t inSize = in[i++], outSize = out[j++];
    while (inSize != outSize) {
      if (inSize < outSize)
        inSize *= in[i++];
      else
        outSize *= out[j++];
    }
    addPair(firstIn, firstOut, inSize);
  }

  /// Without elements there are no groups; equal dims at both ends correspond.
  void correspondEmpty() {
    size_t rank = std::min(in.size(), out.size()), front = 0, back = 0;
    while (front < rank && in[front] == out[front])
      addEqual(front, front), ++front;
    while (front + back < rank &&
           in[in.size() - 1 - back] == out[out.size() - 1 - back])
      addEqual(in.size() - 1 - back, out.size() - 1 - back), ++back;
  }

  void addEqual(size_t i, size_t j) {
    int64_t factor = builder.addFactor("g" + std::to_string(i), in[i]);
    builder.setOperand(0, i, factor);
    builder.setResult(j, factor);
  }

  const Shape &in, &out;
  RuleBuilder &builder;
};

} // namespace

BoundRule dtorch::viewRule(const OpCall &call) {
  const Shape &in = call.operands[0].shape;
  Shape out = shapeAttr(call);
  if (numElements(in) != numElements(out))
    failCall(call, "shape " + toString(out) +
                       " must have as many elements as " +
                       operandName(call, 0) + " of shape " + toString(in) +
                       ", got " + std::to_string(numElements(out)) + " and " +
                       std::to_string(numElements(in)));
  RuleBuilder builder(call);
  builder.setResultShape(std::move(out));
  ViewGroups(call, builder).correspond();
  builder.passPending({ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min});
  return builder.take();
}
