//===- NodeRegistry.h - the recorded nodes of a graph ---------------------===//
#pragma once

#include "dtorch/Graph/Node.h"

namespace dtorch {

/// A lock for a few instructions: a mutex costs three times as much where
/// nobody else wants it, which is nearly always.
class SpinLock {
public:
  void lock() {
    while (flag.test_and_set(std::memory_order_acquire))
      while (flag.test(std::memory_order_relaxed))
        ;
  }
  void unlock() { flag.clear(std::memory_order_release); }

private:
  std::atomic_flag flag;
};

/// The nodes that a graph recorded and that still exist. Nodes enter and leave
/// it by themselves; it never keeps one alive. It lives until the graph and the
/// last node have gone.
class NodeRegistry {
public:
  void insert(Node &node);
  void erase(Node &node);
  void dropGraph();
  int64_t size() const;
  /// References to all of them, in no order.
  std::vector<NodeRef> nodes() const;

private:
  mutable SpinLock spin;
  Node *first = nullptr;
  int64_t count = 0;
  bool graphExists = true;
};

} // namespace dtorch
