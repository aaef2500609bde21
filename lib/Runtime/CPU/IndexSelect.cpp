//===- IndexSelect.cpp - slices at the indices of a 1-D tensor ------------===//
#include "dtorch/Runtime/CPU/Indexing.h"

#include <cstring>

namespace dtorch::cpu {
namespace {

/// outer x n x inner elements of the input, outer x count x inner of the
/// result.
struct SelectLoops {
  IndexRange range;
  int64_t outer, count, inner;

  /// The places of all indices, kept in scratch memory of the thread.
  template <typename Index> const int64_t *places(const Index *index) const {
    int64_t *place = scratch<int64_t>(count, 0);
    for (int64_t i = 0; i < count; ++i)
      place[i] = range.place(index[i]);
    return place;
  }
};

/// Single elements.
template <typename Word>
void selectElements(const SelectLoops &loops, const int64_t *place,
                    const Word *x, Word *y) {
  for (int64_t o = 0; o < loops.outer; ++o, x += loops.range.size)
    for (int64_t i = 0; i < loops.count; ++i)
      *y++ = loops.range.holds(place[i]) ? x[place[i]] : Word(0);
}

/// Blocks of bytes.
void selectBlocks(const SelectLoops &loops, const int64_t *place, const char *x,
                  char *y, size_t block) {
  for (int64_t o = 0; o < loops.outer; ++o, x += loops.range.size * block)
    for (int64_t i = 0; i < loops.count; ++i, y += block)
      if (loops.range.holds(place[i]))
        std::memcpy(y, x + place[i] * block, block);
      else
        std::memset(y, 0, block);
}

SelectLoops loopsOf(const KernelSpec &spec) {
  const TensorSpec &input = spec.inputs[0], &index = spec.inputs[1];
  const Box &result = spec.outputs[0].box;
  size_t dim = spec.attrs.getInt("dim");
  for (size_t d = 0; d < result.size.size(); ++d) {
    const Box &held = d == dim ? index.box : input.box;
    size_t at = d == dim ? 0 : d;
    if (held.offset[at] != result.offset[d] || held.size[at] != result.size[d])
      throwUnfit("index_select", d, "must be sharded as the result's");
  }
  const Shape &shape = input.local();
  return {IndexRange("index_select", input, dim), product(shape, 0, dim),
          index.box.size[0], product(shape, dim + 1, shape.size())};
}

PreparedKernel prepareIndexSelect(const KernelSpec &spec) {
  SelectLoops loops = loopsOf(spec);
  DType dtype = spec.inputs[0].dtype;
  return dispatchIndex(
      "index_select", spec.inputs[1].dtype, [&](auto tag) -> PreparedKernel {
        using Index = typename decltype(tag)::type;
        if (loops.inner != 1)
          return [loops, block = loops.inner * itemSize(dtype)](
                     const void *const *inputs, void *const *outputs) {
            selectBlocks(loops, loops.places(in<Index>(inputs, 1)),
                         in<char>(inputs, 0), out<char>(outputs), block);
          };
        return dispatchWord(dtype, [&](auto word) -> PreparedKernel {
          using Word = typename decltype(word)::type;
          return [loops](const void *const *inputs, void *const *outputs) {
            selectElements(loops, loops.places(in<Index>(inputs, 1)),
                           in<Word>(inputs, 0), out<Word>(outputs));
          };
        });
      });
}

DTORCH_CPU_KERNEL("index_select", prepareIndexSelect);

} // namespace
} // namespace dtorch::cpu
