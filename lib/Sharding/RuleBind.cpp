//===- RuleBind.cpp - gives a placement rule its sizes --------------------===//

#include "dtorch/Sharding/PlacementRule.h"
#include "dtorch/Support/Error.h"

#include <algorithm>
#include <numeric>

using namespace dtorch;

namespace {

/// Where a factor's size was first seen, for messages.
struct Seen {
  int64_t operand = -1, dim = 0;
};

class Binder {
public:
  Binder(const PlacementRule &rule, std::string_view subject,
         std::span<const Shape> shapes, const Attrs &attrs,
         std::span<const std::string_view> names)
      : rule(rule), subject(subject), shapes(shapes), attrs(attrs),
        names(names) {}

  BoundRule bind(std::span<const std::pair<std::string, int64_t>> factorSizes) {
    checkRanks();
    numFactors = batchWidth + rule.factorNames.size();
    sizes.assign(numFactors, -1);
    seen.resize(numFactors);
    for (const auto &[name, size] : factorSizes)
      for (size_t f = 0; f < rule.factorNames.size(); ++f)
        if (rule.factorNames[f] == name)
          sizes[batchWidth + f] = size;
    findSizes();
    makeFactors();
    applyAttrs();
    makeDims();
    return std::move(bound);
  }

private:
  using Term = PlacementRule::Term;
  /// The factors of one dim, major first.
  using DimFactors = std::vector<int64_t>;

  [[noreturn]] void fail(const std::string &message,
                         ErrorKind kind = ErrorKind::Value) const {
    throw Error(std::string(subject) + ": " + message, kind);
  }

  std::string operandName(size_t i) const {
    return i < names.size() ? std::string(names[i])
                            : "operand " + std::to_string(i);
  }

  static bool hasBatch(const std::vector<Term> &tensor) {
    return !tensor.empty() && tensor[0].batch;
  }

  /// "dim 1 of weight"; counted from the end where the rank is free.
  std::string dimName(size_t operand, size_t dim) const {
    int64_t shown = static_cast<int64_t>(dim);
    if (hasBatch(rule.operands[operand]))
      shown -= static_cast<int64_t>(shapes[operand].size());
    return "dim " + std::to_string(shown) + " of " + operandName(operand);
  }

  void checkRanks() {
    if (shapes.size() != rule.operands.size())
      fail("needs " + std::to_string(rule.operands.size()) + " tensors, got " +
               std::to_string(shapes.size()),
           ErrorKind::Type);
    for (size_t i = 0; i < shapes.size(); ++i) {
      bool batch = hasBatch(rule.operands[i]);
      size_t named = rule.operands[i].size() - batch, rank = shapes[i].size();
      if (batch ? rank < named : rank != named)
        fail(operandName(i) + " must have " + (batch ? "at least " : "") +
             std::to_string(named) + (named == 1 ? " dim" : " dims") +
             ", got shape " + toString(shapes[i]));
      if (batch)
        batchWidth = std::max(batchWidth, rank - named);
    }
  }

  /// Factors per dim. Batch factors come first in the numbering and are
  /// right-aligned; `rank` -1 (results) takes all of them.
  std::vector<DimFactors> expand(const std::vector<Term> &tensor,
                                 int64_t rank = -1) const {
    std::vector<DimFactors> dims;
    for (const Term &term : tensor) {
      if (!term.batch) {
        dims.push_back(term.factors);
        for (int64_t &f : dims.back())
          f += batchWidth;
        continue;
      }
      int64_t width = rank < 0 ? batchWidth : rank - (tensor.size() - 1);
      for (int64_t b = batchWidth - width; b < (int64_t)batchWidth; ++b)
        dims.push_back({b});
    }
    return dims;
  }

  bool isBatch(int64_t factor) const { return factor < (int64_t)batchWidth; }

  void findSizes() {
    for (size_t i = 0; i < shapes.size(); ++i)
      operandDims.push_back(expand(rule.operands[i], shapes[i].size()));
    for (size_t i = 0; i < shapes.size(); ++i)
      for (size_t d = 0; d < shapes[i].size(); ++d)
        if (operandDims[i][d].size() == 1)
          setSize(operandDims[i][d][0], i, d, shapes[i][d]);
    for (size_t i = 0; i < shapes.size(); ++i)
      for (size_t d = 0; d < shapes[i].size(); ++d)
        if (operandDims[i][d].size() != 1)
          splitSize(i, d);
  }

  void setSize(int64_t factor, size_t operand, size_t dim, int64_t n) {
    int64_t &size = sizes[factor];
    if (size < 0 || (isBatch(factor) && size == 1)) {
      size = n;
      seen[factor] = {(int64_t)operand, (int64_t)dim};
    } else if (size != n && !(isBatch(factor) && n == 1)) {
      Seen first = seen[factor];
      if (first.operand < 0)
        fail(dimName(operand, dim) + " must be " + std::to_string(size) +
             ", got " + std::to_string(n));
      fail(dimName(first.operand, first.dim) + " must equal " +
           dimName(operand, dim) + (isBatch(factor) ? " or be 1" : "") +
           ", got " + std::to_string(size) + " and " + std::to_string(n));
    }
  }

  /// A dim of several factors: at most one of them has no size yet.
  void splitSize(size_t operand, size_t dim) {
    int64_t n = shapes[operand][dim], known = 1, unknown = -1;
    for (int64_t f : operandDims[operand][dim]) {
      if (sizes[f] >= 0) {
        known *= sizes[f];
      } else {
        if (unknown >= 0)
          fail("sizes of the factors of " + dimName(operand, dim) +
               " are not known");
        unknown = f;
      }
    }
    if (unknown < 0 ? known != n : (known == 0 || n % known))
      fail(dimName(operand, dim) + " must be " +
           (unknown < 0 ? "" : "a multiple of ") + std::to_string(known) +
           ", got " + std::to_string(n));
    if (unknown >= 0)
      sizes[unknown] = n / known;
  }

  void makeFactors() {
    bound.factors.resize(numFactors);
    for (size_t f = 0; f < numFactors; ++f) {
      Factor &factor = bound.factors[f];
      if (isBatch(f)) {
        factor.name = "..." + std::to_string(f);
      } else {
        size_t named = f - batchWidth;
        factor.name = rule.factorNames[named];
        factor.whole = rule.whole[named];
        factor.reduce = rule.reduce[named];
        factor.selectOperands = rule.select[named];
      }
      if (sizes[f] < 0)
        fail("size of factor '" + factor.name + "' is not known");
      factor.size = sizes[f];
    }
    bound.partials = rule.partials;
  }

  /// The dims of operand 0 that an int or int-list attribute names.
  std::vector<int64_t> attrDims(const std::string &name) const {
    const AttrValue *value = attrs.find(name);
    std::vector<int64_t> dims;
    if (value && std::holds_alternative<int64_t>(*value))
      dims = {std::get<int64_t>(*value)};
    else
      dims = attrs.getInts(name);
    int64_t rank = shapes[0].size();
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0 || dims[i] >= rank)
        fail(name + " must be in [0, " + std::to_string(rank) + ") of " +
                 operandName(0) + " of shape " + toString(shapes[0]) +
                 ", got " + std::to_string(dims[i]),
             ErrorKind::Index);
      if (std::find(dims.begin(), dims.begin() + i, dims[i]) !=
          dims.begin() + i)
        fail(name + " must be unique, got " + std::to_string(dims[i]) +
             " twice");
    }
    return dims;
  }

  void applyAttrs() {
    removed.assign(numFactors, false);
    for (const std::string &name : rule.wholeAttrs)
      for (int64_t d : attrDims(name))
        for (int64_t f : operandDims[0][d])
          bound.factors[f].whole = true;
    for (const auto &[name, kind] : rule.reduceAttrs)
      for (int64_t d : attrDims(name))
        for (int64_t f : operandDims[0][d]) {
          bound.factors[f].reduce = kind;
          bound.factors[f].whole |= !kind;
          removed[f] = true;
        }
    const AttrValue *keep = attrs.find("keepdim");
    keepdim =
        keep && std::holds_alternative<bool>(*keep) && std::get<bool>(*keep);
  }

  /// The factor by which a dim shards is its outermost longer than 1.
  int64_t majorOf(const DimFactors &dim) const {
    for (int64_t f : dim)
      if (sizes[f] != 1)
        return f;
    return dim[0];
  }

  int64_t minorProduct(const DimFactors &dim) const {
    int64_t product = 1;
    bool minor = false;
    for (int64_t f : dim) {
      if (minor)
        product *= sizes[f];
      minor |= f == majorOf(dim);
    }
    return product;
  }

  void makeDims() {
    std::vector<std::vector<DimFactors>> resultDims;
    for (const auto &tensor : rule.results)
      resultDims.push_back(expand(tensor));
    // Factors get as many fine elements as their most divided dim has, and
    // one that is ever a minor part of a dim cannot shard anywhere.
    std::vector<int64_t> scale(numFactors, 1);
    for (const auto *tensors : {&operandDims, &resultDims})
      for (const auto &tensor : *tensors)
        for (const DimFactors &dim : tensor) {
          int64_t major = majorOf(dim);
          scale[major] =
              std::lcm(scale[major], std::max<int64_t>(1, minorProduct(dim)));
          for (int64_t f : dim)
            if (f != major && sizes[f] != 1)
              bound.factors[f].whole = true;
        }
    for (size_t f = 0; f < numFactors; ++f)
      bound.factors[f].size *= scale[f];

    auto dimFactor = [&](const DimFactors &dim, int64_t n) {
      int64_t major = majorOf(dim);
      if (dim.size() == 1 && n == 1 && sizes[major] != 1)
        return DimFactor{}; // broadcast
      return DimFactor{major,
                       scale[major] / std::max<int64_t>(1, minorProduct(dim))};
    };
    for (size_t i = 0; i < shapes.size(); ++i) {
      bound.operandShapes.push_back(shapes[i]);
      auto &dims = bound.operands.emplace_back();
      for (size_t d = 0; d < shapes[i].size(); ++d)
        dims.push_back(dimFactor(operandDims[i][d], shapes[i][d]));
    }
    for (const auto &tensor : resultDims) {
      Shape &shape = bound.resultShapes.emplace_back();
      auto &dims = bound.results.emplace_back();
      for (const DimFactors &dim : tensor) {
        bool reduced = removed[dim[0]];
        if (reduced && !keepdim)
          continue;
        int64_t n = 1;
        for (int64_t f : dim)
          n *= reduced ? 1 : sizes[f];
        shape.push_back(n);
        dims.push_back(reduced ? DimFactor{} : dimFactor(dim, n));
      }
    }
  }

  const PlacementRule &rule;
  std::string_view subject;
  std::span<const Shape> shapes;
  const Attrs &attrs;
  std::span<const std::string_view> names;

  size_t batchWidth = 0, numFactors = 0;
  std::vector<int64_t> sizes; ///< per factor, -1 while unknown
  std::vector<Seen> seen;
  std::vector<std::vector<DimFactors>> operandDims;
  std::vector<bool> removed; ///< reduced by an attribute
  bool keepdim = false;
  BoundRule bound;
};

} // namespace

BoundRule PlacementRule::bind(
    std::string_view subject, std::span<const Shape> operandShapes,
    std::span<const std::pair<std::string, int64_t>> factorSizes,
    const Attrs &attrs, std::span<const std::string_view> names) const {
  return Binder(*this, subject, operandShapes, attrs, names).bind(factorSizes);
}
