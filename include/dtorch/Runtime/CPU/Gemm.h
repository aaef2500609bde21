//===- Gemm.h - one-thread fp32 matrix product ----------------------------===//
#pragma once

#include <cstdint>
#include <memory>

namespace dtorch::cpu {

/// c[m, n] = a[m, k] times b, dense and row-major, through oneDNN; set-up is
/// done in the constructor. b is [k, n], or [n, k] if `transposed`. Not to be
/// run by two threads at once.
class Gemm {
public:
  Gemm(int64_t m, int64_t n, int64_t k, bool transposed);
  void run(const float *a, const float *b, float *c) const;

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace dtorch::cpu
