//===- IndexRules.cpp - gather, index_select, scatter, slice_update -------===//
//
// Kernels see their boxes, so elements go by global positions. A dim that an
// index runs over may shard on the side that is read (a device gives zeros for
// what it lacks, the sum is pending) or written (a device takes what it holds).
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace dtorch;

static constexpr auto allKinds = {ReduceKind::Sum, ReduceKind::Max,
                                  ReduceKind::Min};

static std::string factorName(size_t dim) { return "d" + std::to_string(dim); }

/// One dim that all of `operands` and the result share; those in `select` may
/// stay whole, since the kernel finds its part by position.
static void share(RuleBuilder &builder, size_t dim, int64_t size,
                  std::initializer_list<size_t> operands,
                  std::initializer_list<int64_t> select) {
  int64_t factor = builder.addFactor(factorName(dim), size);
  for (size_t operand : operands)
    builder.setOperand(operand, dim, factor);
  builder.setResult(dim, factor);
  builder.rule.factors[factor].selectOperands = select;
}

/// `dim`, and the index's rank and sizes in the other dims.
static int64_t checkIndexed(const OpCall &call) {
  const Shape &in = call.operands[0].shape, &index = call.operands[1].shape;
  int64_t dim = call.attrs.getInt("dim");
  checkDim(call, "dim", dim, in.size());
  bool fits = index.size() == in.size();
  for (size_t d = 0; fits && d < in.size(); ++d)
    fits = (int64_t)d == dim || index[d] <= in[d];
  if (!fits)
    failCall(call, "index must have the dims of input, none longer but dim " +
                       std::to_string(dim) + ", got shapes " + toString(index) +
                       " and " + toString(in));
  return dim;
}

BoundRule dtorch::gatherRule(const OpCall &call) {
  int64_t dim = checkIndexed(call);
  const Shape &in = call.operands[0].shape, &index = call.operands[1].shape;
  RuleBuilder builder(call);
  builder.setResultShape(index);
  for (size_t d = 0; d < in.size(); ++d) {
    if ((int64_t)d != dim && index[d] == in[d]) {
      share(builder, d, in[d], {0, 1}, {0});
      continue;
    }
    share(builder, d, index[d], {1}, {});
    if ((int64_t)d == dim)
      builder.addRead(0, d);
  }
  builder.passPending(allKinds, {0});
  return builder.take();
}

BoundRule dtorch::indexSelectRule(const OpCall &call) {
  const Shape &in = call.operands[0].shape, &index = call.operands[1].shape;
  int64_t dim = call.attrs.getInt("dim");
  checkDim(call, "dim", dim, in.size());
  if (index.size() != 1)
    failCall(call, "index must have 1 dim, got shape " + toString(index));
  Shape out = in;
  out[dim] = index[0];
  RuleBuilder builder(call);
  builder.setResultShape(out);
  for (size_t d = 0; d < in.size(); ++d)
    if ((int64_t)d != dim)
      share(builder, d, in[d], {0}, {});
  int64_t factor = builder.addFactor("i", index[0]);
  builder.setOperand(1, 0, factor);
  builder.setResult(dim, factor);
  builder.addRead(0, dim);
  builder.passPending(allKinds, {0});
  return builder.take();
}

BoundRule dtorch::scatterRule(const OpCall &call) {
  int64_t dim = checkIndexed(call);
  const Shape &in = call.operands[0].shape, &index = call.operands[1].shape;
  const Shape &src = call.operands[2].shape;
  const std::string &reduce = call.attrs.getString("reduce");
  if (src != index)
    failCall(call, "src must have the shape of index, got " + toString(src) +
                       " and " + toString(index));
  if (reduce != "none" && reduce != "add" && reduce != "multiply")
    failCall(call,
             "reduce must be none, add or multiply, got '" + reduce + "'");
  RuleBuilder builder(call);
  builder.setResultShape(in);
  for (size_t d = 0; d < in.size(); ++d)
    if ((int64_t)d != dim && index[d] == in[d])
      share(builder, d, in[d], {0, 1, 2}, {1, 2});
    else
      share(builder, d, in[d], {0}, {});
  if (reduce == "multiply") { // linear in the input
    builder.passPending({ReduceKind::Sum}, {0});
    return builder.take();
  }
  builder.passPending({ReduceKind::Sum}, {0, 2});
  builder.passPending({ReduceKind::Max, ReduceKind::Min}, {0});
  if (reduce == "none")
    for (const auto &operands : {std::vector<int64_t>{0, 2}, {2}})
      builder.passPending({ReduceKind::Max, ReduceKind::Min}, operands);
  return builder.take();
}

BoundRule dtorch::sliceUpdateRule(const OpCall &call) {
  const Shape &in = call.operands[0].shape, &value = call.operands[1].shape;
  Shape taken = checkSlices(call);
  if (value != taken)
    failCall(call, "value must have the shape of the slice, " +
                       toString(taken) + ", got " + toString(value));
  RuleBuilder builder(call);
  builder.setResultShape(in);
  for (size_t d = 0; d < in.size(); ++d)
    if (takesAll(call, d))
      share(builder, d, in[d], {0, 1}, {1});
    else
      share(builder, d, in[d], {0}, {});
  builder.passPending(allKinds, {0, 1});
  for (int64_t operand : {0, 1})
    builder.passPending({ReduceKind::Max, ReduceKind::Min}, {operand});
  return builder.take();
}
