//===- SmallGemm.h - matrix products that stay in the cache ---------------===//
#pragma once

#include <cstdint>
#include <cstring>

namespace dtorch::cpu {

/// As wide as the machine's vectors, and as many rows of them as its registers
/// take as sums.
#if defined(__AVX512F__)
constexpr int64_t vectorBytes = 64, tileRows = 8;
#else
constexpr int64_t vectorBytes = 32, tileRows = 4;
#endif
template <typename C> using Vector [[gnu::vector_size(vectorBytes)]] = C;

/// Columns are padded to a multiple of this.
template <typename C> constexpr int64_t vectorWidth = vectorBytes / sizeof(C);

/// A matrix whose element [i, p] is at data[i * row + p * column].
template <typename C> struct Strided {
  const C *data;
  int64_t row, column;
};

/// Rows x (Columns vectors) of c (+)= a b, summed over k in registers.
template <int Rows, int Columns, bool Accumulate, typename C>
inline void gemmTile(Strided<C> a, const C *b, int64_t ldb, C *c, int64_t ldc,
                     int64_t k) {
  using V = Vector<C>;
  V sum[Rows][Columns] = {};
  if constexpr (Accumulate)
    for (int r = 0; r < Rows; ++r)
      std::memcpy(sum[r], c + r * ldc, Columns * sizeof(V));
  for (int64_t p = 0; p < k; ++p) {
    V right[Columns];
    std::memcpy(right, b + p * ldb, Columns * sizeof(V));
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      C factor = a.data[r * a.row + p * a.column];
#pragma unroll
      for (int v = 0; v < Columns; ++v)
        sum[r][v] += factor * right[v];
    }
  }
  for (int r = 0; r < Rows; ++r)
    std::memcpy(c + r * ldc, sum[r], Columns * sizeof(V));
}

/// All rows of one to two vectors of columns.
template <int Columns, bool Accumulate, typename C>
inline void gemmColumns(Strided<C> a, const C *b, int64_t ldb, C *c,
                        int64_t ldc, int64_t m, int64_t k) {
  int64_t i = 0;
  for (; i + tileRows <= m; i += tileRows)
    gemmTile<tileRows, Columns, Accumulate>(
        {a.data + i * a.row, a.row, a.column}, b, ldb, c + i * ldc, ldc, k);
  for (; i < m; ++i)
    gemmTile<1, Columns, Accumulate>({a.data + i * a.row, a.row, a.column}, b,
                                     ldb, c + i * ldc, ldc, k);
}

/// c[m, n] (+)= a[m, k] b[k, n] for n a multiple of vectorWidth. Every element
/// is summed over k in one order, whatever m and n are.
template <bool Accumulate, typename C>
void smallGemm(Strided<C> a, const C *b, int64_t ldb, C *c, int64_t ldc,
               int64_t m, int64_t n, int64_t k) {
  constexpr int64_t width = vectorWidth<C>;
  int64_t j = 0;
  for (; j + 2 * width <= n; j += 2 * width)
    gemmColumns<2, Accumulate>(a, b + j, ldb, c + j, ldc, m, k);
  if (j < n)
    gemmColumns<1, Accumulate>(a, b + j, ldb, c + j, ldc, m, k);
}

} // namespace dtorch::cpu
