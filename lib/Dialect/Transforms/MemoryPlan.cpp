//===- MemoryPlan.cpp - offsets for values that live for a while ----------===//

#include "MemoryPlan.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace dtorch;

static bool meet(const MemoryRequest &a, const MemoryRequest &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// The best offset for `request` among `placed`, which is sorted by offset.
static int64_t bestOffset(const MemoryRequest &request,
                          const std::vector<const MemoryRequest *> &placed) {
  int64_t best = -1, bestGap = std::numeric_limits<int64_t>::max();
  int64_t end = 0; // of what lies below
  for (const MemoryRequest *other : placed) {
    if (!meet(request, *other))
      continue;
    int64_t gap = other->offset - end;
    if (gap >= request.bytes && gap < bestGap) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, other->offset + other->bytes);
  }
  return best >= 0 ? best : end;
}

int64_t dtorch::planMemory(std::vector<MemoryRequest> &requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (requests[a].bytes != requests[b].bytes)
      return requests[a].bytes > requests[b].bytes;
    return a < b;
  });
  std::vector<const MemoryRequest *> placed;
  int64_t total = 0;
  for (size_t index : order) {
    MemoryRequest &request = requests[index];
    request.offset = bestOffset(request, placed);
    total = std::max(total, request.offset + request.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &request,
                         [](const MemoryRequest *a, const MemoryRequest *b) {
                           return a->offset < b->offset;
                         }),
        &request);
  }
  return total;
}
