//===- SmallGemm.h - matrix products that stay in the cache ---------------===//
#pragma once

#include <cstdint>
#include <cstring>

namespace dtorch::cpu {

/// One 64-byte vector; the compiler splits it where registers are narrower.
template <typename C> using Vector [[gnu::vector_size(64)]] = C;

template <typename C> constexpr int64_t vectorWidth = 64 / sizeof(C);
/// Columns are padded to a multiple of this.
template <typename C> constexpr int64_t tileColumns = 2 * vectorWidth<C>;
constexpr int64_t tileRows = 4;

/// c[m, n] (+)= a[m, k] b[k, n] for m a multiple of tileRows and n of
/// tileColumns. Each tile of c is summed over k in registers, in one order.
template <typename C>
void smallGemm(const C *a, int64_t lda, const C *b, int64_t ldb, C *c,
               int64_t ldc, int64_t m, int64_t n, int64_t k, bool accumulate) {
  using V = Vector<C>;
  constexpr int64_t width = vectorWidth<C>;
  for (int64_t i = 0; i < m; i += tileRows)
    for (int64_t j = 0; j < n; j += tileColumns<C>) {
      V sum[tileRows][2] = {};
      if (accumulate)
        for (int r = 0; r < tileRows; ++r)
          std::memcpy(sum[r], c + (i + r) * ldc + j, 2 * sizeof(V));
      for (int64_t p = 0; p < k; ++p) {
        V left, right;
        std::memcpy(&left, b + p * ldb + j, sizeof(V));
        std::memcpy(&right, b + p * ldb + j + width, sizeof(V));
#pragma unroll
        for (int r = 0; r < tileRows; ++r) {
          C factor = a[(i + r) * lda + p];
          sum[r][0] += factor * left;
          sum[r][1] += factor * right;
        }
      }
      for (int r = 0; r < tileRows; ++r)
        std::memcpy(c + (i + r) * ldc + j, sum[r], 2 * sizeof(V));
    }
}

} // namespace dtorch::cpu
