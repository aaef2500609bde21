//===- RowMemo.cpp - answers of earlier row searches ----------------------===//

#include "RowSearch.h"

#include <mutex>
#include <unordered_map>

using namespace dtorch;
using namespace dtorch::rule_rows;

namespace {

/// All that a search depends on, as numbers: the rule, the sizes of the mesh,
/// the placements, the item sizes and the mode.
class SearchKey {
public:
  SearchKey(const BoundRule &rule, std::span<const Sharding *const> operands,
            std::span<const int64_t> itemSizes, bool freeOnly) {
    numbers.reserve(128);
    add(freeOnly);
    addList(operands[0]->mesh->shape());
    addList(itemSizes);
    for (const Sharding *s : operands)
      for (const Placement &p : s->placements) {
        add((int64_t)p.kind << 8 | (int64_t)p.reduce);
        add(p.dim);
        add(p.unit);
      }
    addRule(rule);
  }
  bool operator==(const SearchKey &) const = default;

  size_t hash() const {
    size_t hash = numbers.size();
    for (int64_t n : numbers) {
      hash = (hash ^ static_cast<size_t>(n)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }

private:
  void add(int64_t number) { numbers.push_back(number); }
  void addList(std::span<const int64_t> list) {
    add(list.size());
    numbers.insert(numbers.end(), list.begin(), list.end());
  }
  void addTensors(const std::vector<std::vector<DimFactor>> &tensors,
                  const std::vector<Shape> &shapes) {
    add(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      addList(shapes[i]);
      for (const DimFactor &dim : tensors[i]) {
        add(dim.factor);
        add(dim.granule);
      }
    }
  }
  void addRule(const BoundRule &rule) {
    add(rule.factors.size());
    for (const Factor &factor : rule.factors) {
      add(factor.size);
      add(factor.whole);
      add(factor.reduce ? (int64_t)*factor.reduce : -1);
      addList(factor.selectOperands);
    }
    addTensors(rule.operands, rule.operandShapes);
    addTensors(rule.results, rule.resultShapes);
    add(rule.partials.size());
    for (const PartialClause &clause : rule.partials) {
      add((int64_t)clause.kind);
      addList(clause.operands);
    }
  }

  std::vector<int64_t> numbers;
};

struct SearchKeyHash {
  size_t operator()(const SearchKey &key) const { return key.hash(); }
};

} // namespace

std::optional<Candidate>
rule_rows::searchRowsOnce(const BoundRule &rule,
                          std::span<const Sharding *const> operands,
                          std::span<const int64_t> itemSizes, bool freeOnly) {
  constexpr size_t maxKept = 10000;
  static std::mutex mutex;
  static std::unordered_map<SearchKey, std::optional<Candidate>, SearchKeyHash>
      kept;
  SearchKey key(rule, operands, itemSizes, freeOnly);
  {
    std::lock_guard lock(mutex);
    if (auto it = kept.find(key); it != kept.end())
      return it->second;
  }
  std::optional<Candidate> found =
      searchRows(rule, operands, itemSizes, freeOnly);
  std::lock_guard lock(mutex);
  if (kept.size() >= maxKept)
    kept.clear();
  kept.try_emplace(std::move(key), found);
  return found;
}
