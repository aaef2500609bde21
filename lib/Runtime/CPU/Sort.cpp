//===- Sort.cpp - the indices that sort a line ----------------------------===//
//
// Elements become unsigned keys of the same order (NaN last, both zeros equal;
// all bits flipped to sort descending), and keys with their indices are sorted:
// short lines by comparison, long ones by their bytes, which is stable.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"

#include <bit>

namespace dtorch::cpu {
namespace {

template <typename Unsigned> struct Item {
  Unsigned key;
  uint32_t index;
};

/// Keys of integers flip the sign bit; of floats, all bits if negative.
template <typename T> auto keyOf(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return uint8_t(x);
  } else if constexpr (is16Bit<T>) {
    return keyOf(convert<float>(x));
  } else {
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr U sign = U(1) << (8 * sizeof(T) - 1);
    if constexpr (isFloat<T>) {
      if (x != x)
        return U(~U(0));
      U bits = std::bit_cast<U>(x + T(0)); // -0 + 0 is 0
      return U(bits & sign ? ~bits : bits | sign);
    } else {
      return U(U(x) ^ sign);
    }
  }
}

template <typename U> using Items = Item<U> *;

/// One pass per byte of the key, each stable; a byte that all keys share is
/// skipped. Returns the array that holds the result.
template <typename U> Items<U> sortByBytes(Items<U> a, Items<U> b, int64_t n) {
  uint32_t counts[sizeof(U)][256] = {};
  for (int64_t i = 0; i < n; ++i)
    for (size_t byte = 0; byte < sizeof(U); ++byte)
      ++counts[byte][a[i].key >> (8 * byte) & 255];
  for (size_t byte = 0; byte < sizeof(U); ++byte) {
    uint32_t *count = counts[byte], position = 0;
    if (count[a[0].key >> (8 * byte) & 255] == n)
      continue;
    for (int value = 0; value < 256; ++value)
      position += std::exchange(count[value], position);
    for (int64_t i = 0; i < n; ++i)
      b[count[a[i].key >> (8 * byte) & 255]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

template <typename U>
Items<U> sortItems(Items<U> items, Items<U> other, int64_t n) {
  constexpr int64_t shortLine = 256;
  if (n > shortLine)
    return sortByBytes(items, other, n);
  std::sort(items, items + n, [](const Item<U> &a, const Item<U> &b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  });
  return items;
}

/// Sorts n elements `step` apart.
template <typename T>
void sortLine(const T *x, int64_t *y, int64_t n, int64_t step,
              bool descending) {
  using U = decltype(keyOf(T()));
  Items<U> items = scratch<Item<U>>(2 * n, 0);
  U flip = descending ? U(~U(0)) : U(0);
  for (int64_t i = 0; i < n; ++i)
    items[i] = {U(keyOf(x[i * step]) ^ flip), uint32_t(i)};
  Items<U> sorted = sortItems<U>(items, items + n, n);
  for (int64_t i = 0; i < n; ++i)
    y[i * step] = sorted[i].index;
}

PreparedKernel prepareSortIndices(const KernelSpec &spec) {
  const TensorSpec &input = spec.inputs[0];
  const Shape &shape = input.local();
  int64_t dim = spec.attrs.getInt("dim");
  bool descending = spec.attrs.getBool("descending");
  if (input.box.empty())
    return doNothing();
  int64_t n = shape[dim], outer = product(shape, 0, dim);
  int64_t inner = product(shape, dim + 1, shape.size());
  if (n != input.global[dim])
    throw Error("sort_indices: dim " + std::to_string(dim) + " must be whole",
                ErrorKind::Placement);
  if (n > INT64_C(0xffffffff))
    throw Error("sort_indices: dim " + std::to_string(dim) +
                    " must have less than 2**32 elements, got " +
                    std::to_string(n),
                ErrorKind::Absent);
  return dispatch(input.dtype, [&](auto tag) -> PreparedKernel {
    using T = typename decltype(tag)::type;
    return [=](const void *const *inputs, void *const *outputs) {
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i) {
          int64_t at = o * n * inner + i;
          sortLine(in<T>(inputs, 0) + at, out<int64_t>(outputs) + at, n, inner,
                   descending);
        }
    };
  });
}

DTORCH_CPU_KERNEL("sort_indices", prepareSortIndices);

} // namespace
} // namespace dtorch::cpu
