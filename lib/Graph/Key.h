//===- Key.h - texts that tell structures apart ---------------------------===//
#pragma once

#include "dtorch/Graph/Node.h"

namespace dtorch {

/// Appends numbers and texts so that different contents give different bytes.
class Key {
public:
  void add(int64_t number) {
    text.append(reinterpret_cast<const char *>(&number), sizeof(number));
  }
  void add(std::string_view string) {
    add(static_cast<int64_t>(string.size()));
    text += string;
  }
  void add(std::span<const int64_t> numbers) {
    add(static_cast<int64_t>(numbers.size()));
    for (int64_t number : numbers)
      add(number);
  }
  void add(const AttrValue &value) {
    add(static_cast<int64_t>(value.index()));
    std::visit(
        [this](const auto &v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, double>)
            text.append(reinterpret_cast<const char *>(&v), sizeof(v));
          else if constexpr (std::is_arithmetic_v<T>)
            add(static_cast<int64_t>(v));
          else if constexpr (std::is_same_v<T, std::string>)
            add(std::string_view(v));
          else
            add(std::span<const int64_t>(v));
        },
        value);
  }
  void add(const Attrs &attrs) {
    for (const auto &[name, value] : attrs) {
      add(std::string_view(name));
      add(value);
    }
    add(int64_t(-1));
  }
  void add(const Sharding &sharding) {
    add(std::string_view(sharding.mesh->str()));
    add(std::string_view(sharding.placementsStr()));
  }
  /// What a step does, without its operands.
  void addOp(const Node &node) {
    add(node.opName());
    add(int64_t(node.strict()));
    if (const OpUseRef &use = node.use())
      add(use->attrs);
    else
      add(node.normalSharding());
  }
  std::string text;
};

} // namespace dtorch
