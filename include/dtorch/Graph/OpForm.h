//===- OpForm.h - an op as one call site records it -----------------------===//
#pragma once

#include "dtorch/Graph/OpUse.h"

#include <atomic>

namespace dtorch {

class Node;

/// An op with some attributes settled and others left open, which each call
/// gives as numbers: `reduce {kind = sum}` with dims and keepdim open.
///
///   type of attribute   numbers
///   Bool, Int           itself
///   Ints                how many, then each
///   DType               the number of the DType
///
/// Forms live for ever: they are static, or in a table that only grows.
class OpForm {
public:
  OpForm(std::string_view op, Attrs settled,
         std::vector<std::string_view> open = {});
  OpForm(const OpForm &) = delete;
  OpForm &operator=(const OpForm &) = delete;

  /// All attributes for the numbers of a call.
  Attrs attrs(std::span<const int64_t> numbers) const;

  /// What recording infers (see inferUse); the answers of late are found by
  /// numbers and pointers, without a lock.
  OpUseRef use(std::span<const int64_t> numbers,
               std::span<const Ref<Node>> inputs, bool strict) const;

  const OpInfo &op;
  /// Whether it multiplies or divides: some numbers then need a pending
  /// operand reduced first.
  const bool scales;

private:
  const Attrs settled;
  struct Open {
    std::string_view name;
    AttrType type;
  };
  std::vector<Open> open;
};

} // namespace dtorch
