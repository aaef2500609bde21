//===- Counters.cpp - what communicators count ----------------------------===//
#include "dtorch/Runtime/Comm/Counters.h"

#include "dtorch/Runtime/Executor.h"

#include <atomic>
#include <mutex>

namespace dtorch {

struct CounterHandle::Cell {
  std::atomic<int64_t> count = 0, bytes = 0;
};

struct CounterTable {
  std::mutex mutex;
  std::map<std::string, CounterHandle::Cell, std::less<>> cells;

  static CounterTable &get() {
    static CounterTable table;
    return table;
  }
  static CounterHandle::Cell *cell(std::string_view kind) {
    CounterTable &table = get();
    std::lock_guard lock(table.mutex);
    return &table.cells[std::string(kind)];
  }
  static std::map<std::string, CommunicationCounter> read() {
    CounterTable &table = get();
    std::lock_guard lock(table.mutex);
    std::map<std::string, CommunicationCounter> counters;
    for (const auto &[kind, cell] : table.cells)
      if (cell.count)
        counters[kind] = {cell.count, cell.bytes};
    return counters;
  }
  static void reset() {
    CounterTable &table = get();
    std::lock_guard lock(table.mutex);
    for (auto &[kind, cell] : table.cells)
      cell.count = cell.bytes = 0;
  }
};

CounterHandle::CounterHandle(std::string_view kind)
    : cell(CounterTable::cell(kind)) {}
void CounterHandle::addCount() const {
  cell->count.fetch_add(1, std::memory_order_relaxed);
}
void CounterHandle::addBytes(int64_t bytes) const {
  cell->bytes.fetch_add(bytes, std::memory_order_relaxed);
}

std::map<std::string, CommunicationCounter> communicationCounters() {
  return CounterTable::read();
}
void resetCommunicationCounters() { CounterTable::reset(); }

} // namespace dtorch
