//===- AttentionRule.cpp - scaled dot-product attention -------------------===//
//
//   query [..., H, L, E]  key [..., Hkv, S, E]  value [..., Hkv, S, Ev]
//   scale []              mask broadcasts to [..., H, L, S]
//   result [..., H, L, Ev]
//
// Heads: query head h uses K/V head h / (H / Hkv), so an index of a K/V head
// dim stands for H/Hkv query heads; K and V may stay R, since the kernel knows
// which query heads it has. Query rows may shard while K and V are whole: the
// causal mask goes by global positions. The value is linear in V.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace dtorch;

namespace {

enum Operand : size_t { Query, Key, Value, Scale, Mask };

class AttentionRule {
public:
  explicit AttentionRule(const OpCall &call)
      : call(call), q(shape(Query)), k(shape(Key)), v(shape(Value)),
        builder(call) {}

  BoundRule build() {
    checkShapes();
    Shape result = q;
    result.back() = v.back();
    builder.setResultShape(result);
    rank = q.size();
    for (size_t d = 0; d + 3 < rank; ++d)
      addBatch(d);
    addHeads(rank - 3);
    addRows(rank - 2);
    int64_t columns = builder.addFactor("ev", v.back());
    builder.setOperand(Value, rank - 1, columns);
    builder.setResult(rank - 1, columns);
    builder.rule.partials.push_back({ReduceKind::Sum, {Value}});
    return builder.take();
  }

private:
  const Shape &shape(size_t i) const { return call.operands[i].shape; }

  void checkEqual(size_t a, size_t b, int64_t dim) {
    int64_t na = shape(a).end()[dim], nb = shape(b).end()[dim];
    if (na != nb)
      failCall(call, "dim " + std::to_string(dim) + " of " +
                         operandName(call, a) + " must equal dim " +
                         std::to_string(dim) + " of " + operandName(call, b) +
                         ", got " + std::to_string(na) + " and " +
                         std::to_string(nb));
  }

  void checkShapes() {
    if (q.size() < 3 || k.size() != q.size() || v.size() != q.size())
      failCall(call, "query, key and value must have equally many dims, at "
                     "least 3, got shapes " +
                         toString(q) + ", " + toString(k) + " and " +
                         toString(v));
    for (int64_t d = -static_cast<int64_t>(q.size()); d < -3; ++d) {
      checkEqual(Query, Key, d);
      checkEqual(Key, Value, d);
    }
    checkEqual(Key, Value, -3);
    checkEqual(Key, Value, -2);
    checkEqual(Query, Key, -1);
    int64_t heads = q.end()[-3], kvHeads = k.end()[-3];
    if (kvHeads == 0 ? heads != 0 : heads % kvHeads != 0)
      failCall(call, "heads of query must be a multiple of heads of key, got " +
                         std::to_string(heads) + " and " +
                         std::to_string(kvHeads));
    if (!shape(Scale).empty())
      failCall(call,
               "scale must have 0 dims, got shape " + toString(shape(Scale)));
    checkMask();
  }

  void checkMask() {
    if (!hasMask())
      return;
    const Shape &mask = shape(Mask);
    Shape scores = q;
    scores.back() = k.end()[-2];
    bool fits = mask.size() <= scores.size();
    for (size_t d = 1; fits && d <= mask.size(); ++d)
      fits = mask.end()[-d] == 1 || mask.end()[-d] == scores.end()[-d];
    if (!fits)
      failCall(call, "mask must broadcast to " + toString(scores) +
                         ", got shape " + toString(mask));
  }

  bool hasMask() const { return call.operands.size() > Mask; }

  /// The mask follows in dim `d` of the scores unless it is broadcast there.
  void followMask(size_t d, int64_t factor) {
    if (!hasMask())
      return;
    const Shape &mask = shape(Mask);
    if (d + mask.size() < rank)
      return;
    size_t dim = d + mask.size() - rank;
    if (mask[dim] == q[d])
      builder.setOperand(Mask, dim, factor);
  }

  void addBatch(size_t d) {
    int64_t factor = builder.addFactor("b" + std::to_string(d), q[d]);
    for (size_t operand : {Query, Key, Value})
      builder.setOperand(operand, d, factor);
    builder.setResult(d, factor);
    followMask(d, factor);
  }

  void addHeads(size_t d) {
    int64_t factor = builder.addFactor("h", q[d]);
    int64_t group = k[d] == 0 ? 1 : q[d] / k[d];
    if (q[d] == 0) // no query heads: nothing corresponds
      group = 1;
    builder.setOperand(Query, d, factor);
    builder.setOperand(Key, d, factor, group);
    builder.setOperand(Value, d, factor, group);
    builder.setResult(d, factor);
    builder.rule.factors[factor].selectOperands = {Key, Value};
    followMask(d, factor);
  }

  void addRows(size_t d) {
    int64_t factor = builder.addFactor("l", q[d]);
    builder.setOperand(Query, d, factor);
    builder.setResult(d, factor);
    followMask(d, factor);
  }

  const OpCall &call;
  const Shape &q, &k, &v;
  RuleBuilder builder;
  size_t rank = 0;
};

} // namespace

BoundRule dtorch::sdpaRule(const OpCall &call) {
  return AttentionRule(call).build();
}
