//===- ShapeRules.cpp - permute, expand, slice, pad, cat ------------------===//

#include "Rules.h"

#include <algorithm>

using namespace dtorch;

static constexpr auto allKinds = {ReduceKind::Sum, ReduceKind::Max,
                                  ReduceKind::Min};

static std::string factorName(size_t dim) { return "d" + std::to_string(dim); }

BoundRule dtorch::permuteRule(const OpCall &call) {
  const Shape &in = call.operands[0].shape;
  const std::vector<int64_t> &dims = perDim(call, "dims", in.size());
  Shape out;
  for (size_t j = 0; j < dims.size(); ++j) {
    checkDim(call, "dims", dims[j], in.size());
    if (std::find(dims.begin(), dims.begin() + j, dims[j]) != dims.begin() + j)
      failCall(call, "dims must be unique, got " + std::to_string(dims[j]) +
                         " twice");
    out.push_back(in[dims[j]]);
  }
  RuleBuilder builder(call);
  builder.setResultShape(std::move(out));
  for (size_t i = 0; i < in.size(); ++i)
    builder.setOperand(0, i, builder.addFactor(factorName(i), in[i]));
  for (size_t j = 0; j < dims.size(); ++j)
    builder.setResult(j, dims[j]);
  builder.passPending(allKinds);
  return builder.take();
}

BoundRule dtorch::expandRule(const OpCall &call) {
  const Shape &in = call.operands[0].shape;
  Shape out = shapeAttr(call);
  if (out.size() < in.size())
    failCall(call, "shape " + toString(out) +
                       " must have at least the dims of " +
                       operandName(call, 0) + " of shape " + toString(in));
  RuleBuilder builder(call);
  builder.setResultShape(out);
  size_t added = out.size() - in.size();
  for (size_t j = 0; j < out.size(); ++j) {
    int64_t factor = builder.addFactor(factorName(j), out[j]);
    builder.setResult(j, factor);
    if (j < added)
      continue;
    size_t i = j - added;
    if (in[i] == out[j])
      builder.setOperand(0, i, factor);
    else if (in[i] != 1) // a repeated dim has nothing to shard in the operand
      failCall(call, "dim " + std::to_string((int64_t)i - (int64_t)in.size()) +
                         " of " + operandName(call, 0) + " must be " +
                         std::to_string(out[j]) + " or 1, got " +
                         std::to_string(in[i]));
  }
  builder.passPending(allKinds);
  return builder.take();
}

Shape dtorch::checkSlices(const OpCall &call) {
  const Shape &in = call.operands[0].shape;
  const auto &starts = perDim(call, "starts", in.size());
  const auto &stops = perDim(call, "stops", in.size());
  const auto &steps = perDim(call, "steps", in.size());
  Shape taken(in.size());
  for (size_t d = 0; d < in.size(); ++d) {
    if (starts[d] < 0 || stops[d] < starts[d] || in[d] < stops[d])
      failCall(call,
               "dim " + std::to_string(d) +
                   ": needs 0 <= start <= stop <= " + std::to_string(in[d]) +
                   ", got start " + std::to_string(starts[d]) + " and stop " +
                   std::to_string(stops[d]),
               ErrorKind::Index);
    if (steps[d] < 1)
      failCall(call, "dim " + std::to_string(d) +
                         ": step must be at least 1, got " +
                         std::to_string(steps[d]));
    taken[d] =
        stops[d] == starts[d] ? 0 : (stops[d] - starts[d] - 1) / steps[d] + 1;
  }
  return taken;
}

bool dtorch::takesAll(const OpCall &call, size_t d) {
  return call.attrs.getInts("starts")[d] == 0 &&
         call.attrs.getInts("stops")[d] == call.operands[0].shape[d] &&
         call.attrs.getInts("steps")[d] == 1;
}

BoundRule dtorch::sliceRule(const OpCall &call) {
  const Shape &in = call.operands[0].shape;
  RuleBuilder builder(call);
  builder.setResultShape(checkSlices(call));
  for (size_t d = 0; d < in.size(); ++d)
    if (takesAll(call, d)) {
      int64_t factor = builder.addFactor(factorName(d), in[d]);
      builder.setOperand(0, d, factor);
      builder.setResult(d, factor);
    }
  builder.passPending(allKinds);
  return builder.take();
}

BoundRule dtorch::padRule(const OpCall &call) {
  const Shape &in = call.operands[0].shape;
  const auto &before = perDim(call, "before", in.size());
  const auto &after = perDim(call, "after", in.size());
  if (!call.operands[1].shape.empty())
    failCall(call, "value must have 0 dims, got shape " +
                       toString(call.operands[1].shape));
  Shape out = in;
  for (size_t d = 0; d < in.size(); ++d) {
    if (before[d] < 0 || after[d] < 0)
      failCall(call, "before and after must be at least 0, got " +
                         toString(before) + " and " + toString(after));
    if (__builtin_add_overflow(out[d], before[d], &out[d]) ||
        __builtin_add_overflow(out[d], after[d], &out[d]))
      failCall(call, "before and after must leave sizes of 64 bits, got " +
                         toString(before) + " and " + toString(after));
  }
  RuleBuilder builder(call);
  builder.setResultShape(out);
  for (size_t d = 0; d < in.size(); ++d)
    if (out[d] == in[d]) {
      int64_t factor = builder.addFactor(factorName(d), in[d]);
      builder.setOperand(0, d, factor);
      builder.setResult(d, factor);
    }
  builder.passPending(allKinds);
  for (int64_t operand : {0, 1}) // a maximum with a value of its own
    builder.passPending({ReduceKind::Max, ReduceKind::Min}, {operand});
  return builder.take();
}

BoundRule dtorch::catRule(const OpCall &call) {
  const Shape &first = call.operands[0].shape;
  int64_t dim = call.attrs.getInt("dim");
  checkDim(call, "dim", dim, first.size());
  Shape out = first;
  for (size_t i = 1; i < call.operands.size(); ++i) {
    const Shape &shape = call.operands[i].shape;
    Shape rest = shape;
    if (shape.size() == first.size()) {
      out[dim] += shape[dim];
      rest[dim] = first[dim];
    }
    if (rest != first)
      failCall(call, "shapes must be equal but for dim " + std::to_string(dim) +
                         ", got " + toString(first) + " and " +
                         toString(shape) + " (" + operandName(call, i) + ")");
  }
  RuleBuilder builder(call);
  builder.setResultShape(out);
  for (size_t d = 0; d < first.size(); ++d) {
    if ((int64_t)d == dim)
      continue;
    int64_t factor = builder.addFactor(factorName(d), first[d]);
    for (size_t i = 0; i < call.operands.size(); ++i)
      builder.setOperand(i, d, factor);
    builder.setResult(d, factor);
  }
  builder.passPending(allKinds);
  return builder.take();
}
