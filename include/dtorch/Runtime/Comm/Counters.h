//===- Counters.h - what communicators count ------------------------------===//
#pragma once

#include <cstdint>
#include <string_view>

namespace dtorch {

/// Adds to the counter of a kind of collective (see communicationCounters).
/// Looked up once, at bind; adding is lock-free.
class CounterHandle {
public:
  explicit CounterHandle(std::string_view kind);
  void addCount() const;
  void addBytes(int64_t bytes) const;

private:
  struct Cell;
  friend struct CounterTable;
  Cell *cell;
};

} // namespace dtorch
