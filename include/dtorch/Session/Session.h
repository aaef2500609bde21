//===- Session.h - compiles what was recorded, and runs it ----------------===//
#pragma once

#include "dtorch/Graph/Graph.h"

namespace dtorch {

struct CompileCounters {
  int64_t programs = 0;  ///< programs compiled
  int64_t cacheHits = 0; ///< flushes served by a program compiled before
  int64_t ops = 0;       ///< ops that passes visited
};

/// Turns recorded values into computed ones: captures what is needed, compiles
/// it or finds the program of an equal structure, runs it and stores the
/// results. One flush at a time; other threads wait. Holds no lock of Python.
///
/// DTORCH_DUMP=DIR writes DIR/<n>-<name>/ for every program compiled: its
/// phases and `inputs.safetensors`. DTORCH_ROUNDTRIP=1 prints and parses every
/// phase before going on.
class Session {
public:
  /// The session of this process's virtual devices.
  static Session &local();
  virtual ~Session() = default;

  /// Computes the nodes and whatever they need, in one program.
  virtual void flush(const std::vector<NodeRef> &wanted) = 0;
  /// Computes every recorded value of the graph that somebody holds.
  virtual void sync(Graph &graph) = 0;
  virtual CompileCounters counters() const = 0;
};

} // namespace dtorch
