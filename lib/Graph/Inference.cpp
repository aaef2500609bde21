//===- Inference.cpp - what recording infers for an op --------------------===//

#include "dtorch/Graph/Inference.h"
#include "dtorch/Ops/Placing.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_map>

using namespace dtorch;

static OpUse infer(const OpInfo &op, std::vector<ValueTypeRef> operands,
                   Attrs attrs, bool strict) {
  OpCall call{&op, {}, std::move(attrs)};
  std::vector<Sharding> held;
  for (const ValueTypeRef &operand : operands) {
    call.operands.push_back(operand->tensor);
    held.push_back(operand->normal);
  }
  TensorType type = inferTypes(call).front();
  Placing placing = placeCall(std::move(call), std::move(held), strict);
  if (!placing.choice)
    throw Error(std::string(subjectOf(placing.call)) + ": " +
                    noRowText(placing) + "\n  note: legal rows for one axis: " +
                    legalRowsText(placing.rule) +
                    "\n  note: redistribute an operand, or use mode \"auto\"",
                ErrorKind::Placement);
  const Sharding &result = placing.choice->results.front();
  auto valueType =
      std::make_shared<ValueType>(ValueType{std::move(type), result, result});
  return {&op, std::move(placing.call.attrs), std::move(operands), strict,
          std::move(valueType)};
}

//===----------------------------------------------------------------------===//
// The cache of answers
//===----------------------------------------------------------------------===//

namespace {
struct Hash {
  size_t state = 0;
  template <typename T> void add(const T &value) {
    state ^= std::hash<T>()(value) + 0x9e3779b97f4a7c15ull + (state << 6) +
             (state >> 2);
  }
};
} // namespace

static void add(Hash &hash, const AttrValue &value) {
  std::visit(
      [&](const auto &v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>,
                                     std::vector<int64_t>>)
          for (int64_t i : v)
            hash.add(i);
        else
          hash.add(v);
      },
      value);
}

static size_t hashOf(const OpInfo &op, std::span<const ValueTypeRef> operands,
                     const Attrs &attrs, bool strict) {
  Hash hash;
  hash.add(&op);
  hash.add(strict);
  for (const auto &[name, value] : attrs)
    add(hash, value);
  for (const ValueTypeRef &operand : operands) {
    hash.add(static_cast<int>(operand->tensor.dtype));
    for (int64_t size : operand->tensor.shape)
      hash.add(size);
    for (const Placement &placement : operand->normal.placements)
      hash.add(static_cast<int64_t>(placement.kind) * 64 + placement.dim);
  }
  return hash.state;
}

static bool sameType(const ValueTypeRef &a, const ValueTypeRef &b) {
  return a == b || (a->tensor == b->tensor && a->normal == b->normal);
}

namespace {
/// Forgotten as a whole when full: a model has a few hundred distinct uses.
class UseCache {
public:
  OpUseRef find(size_t hash, const OpInfo &op,
                std::span<const ValueTypeRef> operands, const Attrs &attrs,
                bool strict) {
    std::lock_guard<std::mutex> guard(mutex);
    return lookup(hash, op, operands, attrs, strict);
  }
  /// Keeps `use`, or gives the equal one that another thread put here.
  OpUseRef insert(size_t hash, OpUseRef use) {
    std::lock_guard<std::mutex> guard(mutex);
    if (OpUseRef other =
            lookup(hash, *use->op, use->operands, use->attrs, use->strict))
      return other;
    if (uses.size() >= 1 << 14)
      uses.clear();
    uses.emplace(hash, use);
    return use;
  }

private:
  OpUseRef lookup(size_t hash, const OpInfo &op,
                  std::span<const ValueTypeRef> operands, const Attrs &attrs,
                  bool strict) const {
    auto [begin, end] = uses.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const OpUse &use = *it->second;
      if (use.op == &op && use.strict == strict && use.attrs == attrs &&
          std::equal(use.operands.begin(), use.operands.end(), operands.begin(),
                     operands.end(), sameType))
        return it->second;
    }
    return nullptr;
  }
  std::mutex mutex;
  std::unordered_multimap<size_t, OpUseRef> uses;
};
} // namespace

OpUseRef dtorch::inferUse(const OpInfo &op, std::vector<ValueTypeRef> operands,
                          Attrs attrs, bool strict) {
  static UseCache cache;
  size_t hash = hashOf(op, operands, attrs, strict);
  if (OpUseRef use = cache.find(hash, op, operands, attrs, strict))
    return use;
  return cache.insert(
      hash, std::make_shared<const OpUse>(
                infer(op, std::move(operands), std::move(attrs), strict)));
}
