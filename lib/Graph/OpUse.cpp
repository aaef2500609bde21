//===- OpUse.cpp - an op on operands of given types and places ------------===//
//
// Two tables know every ValueType and OpUse that exists, without keeping them
// alive. A second list keeps the OpUses of late: a model records the same few
// hundred again in its next forward, when the nodes of the last one are gone.
//
//===----------------------------------------------------------------------===//

#include "dtorch/Graph/OpUse.h"
#include "dtorch/Ops/Placing.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_map>

using namespace dtorch;

namespace {
struct Hash {
  size_t state = 0;
  template <typename T> void add(const T &value) {
    state ^= std::hash<T>()(value) + 0x9e3779b97f4a7c15ull + (state << 6) +
             (state >> 2);
  }
  void add(const Sharding &sharding) {
    add(sharding.mesh->numDevices());
    for (const Placement &placement : sharding.placements)
      add(static_cast<int64_t>(placement.kind) * 64 + placement.dim);
  }
  void add(const AttrValue &value) {
    std::visit(
        [this](const auto &v) {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>,
                                       std::vector<int64_t>>)
            for (int64_t i : v)
              add(i);
          else
            add(v);
        },
        value);
  }
};

/// Objects by hash. The last reference to one may leave at any time: it then
/// waits for the mutex to leave the table, and is no longer found.
template <typename T> class Table {
public:
  /// The object that `isEqual` accepts, or the new one that `make` gives.
  template <typename IsEqual, typename Make>
  Ref<const T> findOrAdd(size_t hash, IsEqual isEqual, Make make) {
    std::lock_guard<std::mutex> guard(mutex);
    if (const T *object = find(hash, isEqual))
      return Ref<const T>::adopt(object);
    const T *object = make();
    objects.emplace(hash, object);
    return Ref<const T>(object);
  }
  template <typename IsEqual>
  Ref<const T> lookup(size_t hash, IsEqual isEqual) {
    std::lock_guard<std::mutex> guard(mutex);
    return Ref<const T>::adopt(find(hash, isEqual));
  }
  void erase(size_t hash, const T *object) {
    std::lock_guard<std::mutex> guard(mutex);
    auto [begin, end] = objects.equal_range(hash);
    objects.erase(std::find_if(
        begin, end, [&](const auto &entry) { return entry.second == object; }));
  }

private:
  /// With a reference taken; null if there is none.
  template <typename IsEqual> const T *find(size_t hash, IsEqual isEqual) {
    auto [begin, end] = objects.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (isEqual(*it->second) && it->second->retainIfAlive())
        return it->second;
    return nullptr;
  }
  std::mutex mutex;
  std::unordered_multimap<size_t, const T *> objects;
};
} // namespace

//===----------------------------------------------------------------------===//
// ValueType
//===----------------------------------------------------------------------===//

namespace dtorch {
/// Never destroyed: nodes may leave after static objects.
class ValueTypeTable : public Table<ValueType> {
public:
  static ValueTypeTable &instance() {
    static auto *table = new ValueTypeTable;
    return *table;
  }
  ValueTypeRef get(TensorType tensor, Sharding written, Sharding normal) {
    Hash hash;
    hash.add(static_cast<int>(tensor.dtype));
    for (int64_t size : tensor.shape)
      hash.add(size);
    hash.add(written);
    hash.add(normal);
    return findOrAdd(
        hash.state,
        [&](const ValueType &type) {
          return type.tensor == tensor && type.normal == normal &&
                 type.written == written;
        },
        [&] {
          return new ValueType(std::move(tensor), std::move(written),
                               std::move(normal), hash.state);
        });
  }
};
} // namespace dtorch

ValueType::ValueType(TensorType tensor, Sharding written, Sharding normal,
                     size_t hash)
    : tensor(std::move(tensor)), written(std::move(written)),
      normal(std::move(normal)), pending(this->normal.hasPartial()),
      hash(hash) {}

void ValueType::destroy() const {
  ValueTypeTable::instance().erase(hash, this);
  delete this;
}

ValueTypeRef ValueType::get(TensorType tensor, Sharding written,
                            Sharding normal) {
  return ValueTypeTable::instance().get(std::move(tensor), std::move(written),
                                        std::move(normal));
}

ValueTypeRef ValueType::scalar(DType dtype) {
  static const auto *types = [] {
    auto *all = new std::vector<ValueTypeRef>;
    for (int i = 0; i <= static_cast<int>(DType::Float64); ++i)
      all->push_back(
          get({{}, static_cast<DType>(i)}, Sharding::host(), Sharding::host()));
    return all;
  }();
  return (*types)[static_cast<size_t>(dtype)];
}

//===----------------------------------------------------------------------===//
// OpUse
//===----------------------------------------------------------------------===//

/// The result's type and place.
static ValueTypeRef infer(const OpInfo &op,
                          std::span<const ValueTypeRef> operands,
                          const Attrs &attrs, bool strict) {
  OpCall call{&op, {}, attrs};
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
  return ValueType::get(std::move(type), result, result);
}

namespace dtorch {
class OpUseTable : public Table<OpUse> {
public:
  static OpUseTable &instance() {
    static auto *table = new OpUseTable;
    return *table;
  }

  OpUseRef get(const OpInfo &op, std::vector<ValueTypeRef> operands,
               Attrs attrs, bool strict) {
    Hash hash;
    hash.add(&op);
    hash.add(strict);
    for (const auto &[name, value] : attrs)
      hash.add(value);
    for (const ValueTypeRef &operand : operands)
      hash.add(operand.get());
    auto isEqual = [&](const OpUse &use) {
      return use.op == &op && use.strict == strict &&
             use.operands == operands && use.attrs == attrs;
    };
    if (OpUseRef use = lookup(hash.state, isEqual))
      return use;
    // Inference asks for types, so no lock is held.
    ValueTypeRef result = infer(op, operands, attrs, strict);
    OpUseRef use = findOrAdd(hash.state, isEqual, [&] {
      auto *added = new OpUse;
      added->op = &op;
      added->attrs = std::move(attrs);
      added->operands = std::move(operands);
      added->strict = strict;
      added->result = std::move(result);
      added->hash = hash.state;
      return added;
    });
    keep(use);
    return use;
  }

private:
  /// Forgotten as a whole when full.
  void keep(const OpUseRef &use) {
    std::vector<OpUseRef> forgotten; // leaves after the lock
    std::lock_guard<std::mutex> guard(lateMutex);
    if (late.size() >= 1 << 14)
      forgotten.swap(late);
    late.push_back(use);
  }
  std::mutex lateMutex;
  std::vector<OpUseRef> late;
};
} // namespace dtorch

void OpUse::destroy() const {
  OpUseTable::instance().erase(hash, this);
  delete this;
}

OpUseRef dtorch::inferUse(const OpInfo &op, std::vector<ValueTypeRef> operands,
                          Attrs attrs, bool strict) {
  return OpUseTable::instance().get(op, std::move(operands), std::move(attrs),
                                    strict);
}
