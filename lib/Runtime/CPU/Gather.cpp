//===- Gather.cpp - gather and scatter ------------------------------------===//
//
// Both run over the index tensor line by line of its last dim, with a second
// offset into the tensor that the indices point into. Dims other than `dim` go
// by global positions.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Indexing.h"

#include <cstring>

namespace dtorch::cpu {

namespace {

/// Runs of index elements (the last dim), and where each points to when its
/// index is 0.
struct IndexLoops {
  IndexRange range;
  Shape sizes, indexSteps, targetSteps; ///< of the outer dims
  int64_t run = 1, runStep = 0;         ///< target step along a run
  int64_t stride = 1;                   ///< of `dim` in the target
  int64_t firstIndex = 0, firstTarget = 0;
  bool empty = false;

  /// `part` is the part of the index tensor's box to visit; the target's box
  /// covers it in every dim but `dim`.
  IndexLoops(const char *op, const TensorSpec &index, const Box &part,
             const TensorSpec &target, int64_t dim)
      : range(op, target, dim), empty(part.empty()) {
    Shape own = rowMajorStrides(index.local());
    Shape steps = rowMajorStrides(target.local());
    stride = steps[dim];
    steps[dim] = 0;
    for (size_t d = 0; d < own.size(); ++d) {
      firstIndex += (part.offset[d] - index.box.offset[d]) * own[d];
      firstTarget += (part.offset[d] - target.box.offset[d]) * steps[d];
    }
    run = part.size.back();
    runStep = steps.back();
    sizes.assign(part.size.begin(), part.size.end() - 1);
    indexSteps = std::move(own);
    targetSteps = std::move(steps);
  }

  /// Calls `body(offset in the index tensor, offset in the target)` per run.
  template <typename Body> void forEach(Body body) const {
    if (empty)
      return;
    Shape at(sizes.size(), 0);
    int64_t i = firstIndex, t = firstTarget;
    while (true) {
      body(i, t);
      size_t d = sizes.size();
      for (; d-- > 0;) {
        i += indexSteps[d];
        t += targetSteps[d];
        if (++at[d] < sizes[d])
          break;
        i -= indexSteps[d] * sizes[d];
        t -= targetSteps[d] * sizes[d];
        at[d] = 0;
      }
      if (d == static_cast<size_t>(-1))
        return;
    }
  }
};

/// Whether [offset, offset + size) of `part` lies within that of `whole`.
bool covers(const Box &whole, const Box &part, size_t d) {
  return part.offset[d] >= whole.offset[d] &&
         part.offset[d] + part.size[d] <= whole.offset[d] + whole.size[d];
}

template <typename Word, typename Index>
PreparedKernel gatherOf(const IndexLoops &loops) {
  if (loops.range.isWhole())
    return [loops](const void *const *inputs, void *const *outputs) {
      const Index *index = in<Index>(inputs, 1);
      loops.forEach([&](int64_t i, int64_t from) {
        loops.range.check(index + i, loops.run);
        const Word *x = in<Word>(inputs, 0) + from;
        Word *y = out<Word>(outputs) + i;
        for (int64_t j = 0; j < loops.run; ++j)
          y[j] = x[j * loops.runStep +
                   loops.range.wrap(index[i + j]) * loops.stride];
      });
    };
  return [loops](const void *const *inputs, void *const *outputs) {
    const Word *x = in<Word>(inputs, 0);
    const Index *index = in<Index>(inputs, 1);
    Word *y = out<Word>(outputs);
    loops.forEach([&](int64_t i, int64_t from) {
      for (int64_t j = 0; j < loops.run; ++j, from += loops.runStep) {
        int64_t place = loops.range.place(index[i + j]);
        y[i + j] =
            loops.range.holds(place) ? x[from + place * loops.stride] : Word(0);
      }
    });
  };
}

PreparedKernel prepareGather(const KernelSpec &spec) {
  const TensorSpec &input = spec.inputs[0], &index = spec.inputs[1];
  const Box &result = spec.outputs[0].box;
  int64_t dim = spec.attrs.getInt("dim");
  for (size_t d = 0; d < result.size.size(); ++d)
    if (index.box.offset[d] != result.offset[d] ||
        index.box.size[d] != result.size[d])
      throwUnfit("gather", d, "of index must be sharded as the result's");
    else if (!result.empty() && (int64_t)d != dim &&
             !covers(input.box, index.box, d))
      throwUnfit("gather", d, "of input must cover that of index");
  IndexLoops loops("gather", index, index.box, input, dim);
  return dispatchWord(input.dtype, [&](auto word) {
    return dispatchIndex("gather", index.dtype, [&](auto number) {
      return gatherOf<typename decltype(word)::type,
                      typename decltype(number)::type>(loops);
    });
  });
}

template <typename T, typename Index, typename Put>
PreparedKernel scatterOf(const IndexLoops &loops, size_t bytes, Put put) {
  return [loops, bytes, put](const void *const *inputs, void *const *outputs) {
    std::memcpy(outputs[0], inputs[0], bytes);
    const Index *index = in<Index>(inputs, 1);
    const T *src = in<T>(inputs, 2);
    T *y = out<T>(outputs);
    loops.forEach([&](int64_t i, int64_t to) {
      for (int64_t j = 0; j < loops.run; ++j, to += loops.runStep) {
        int64_t place = loops.range.place(index[i + j]);
        if (loops.range.holds(place))
          put(y[to + place * loops.stride], src[i + j]);
      }
    });
  };
}

/// 16-bit elements are rounded at every step, as PyTorch's are.
template <typename T> void addTo(T &sum, T value) {
  if constexpr (std::is_same_v<T, bool>)
    sum = sum || value;
  else
    sum = convert<T>(
        Compute<T>(convert<Compute<T>>(sum) + convert<Compute<T>>(value)));
}
template <typename T> void multiplyTo(T &factor, T value) {
  if constexpr (std::is_same_v<T, bool>)
    factor = factor && value;
  else
    factor = convert<T>(
        Compute<T>(convert<Compute<T>>(factor) * convert<Compute<T>>(value)));
}

/// The input's box is the result's; of index and src, whose boxes are one, the
/// part that the result's box covers is used.
Box scatteredPart(const KernelSpec &spec) {
  const Box &result = spec.outputs[0].box, &index = spec.inputs[1].box;
  int64_t dim = spec.attrs.getInt("dim");
  if (!(spec.inputs[0].box == result))
    throwUnfit("scatter", dim, "of input must be sharded as the result's");
  if (!(spec.inputs[2].box == index))
    throwUnfit("scatter", dim, "of src must be sharded as that of index");
  const Shape &whole = spec.inputs[1].global;
  if (index.size[dim] != whole[dim])
    throwUnfit("scatter", dim, "of index must be whole");
  Box part = index;
  for (size_t d = 0; d < part.size.size(); ++d) {
    if ((int64_t)d == dim)
      continue;
    int64_t begin = std::min(result.offset[d], whole[d]);
    int64_t end = std::min(result.offset[d] + result.size[d], whole[d]);
    Box needed{{begin}, {end - begin}};
    if (begin < end && !covers({{index.offset[d]}, {index.size[d]}}, needed, 0))
      throwUnfit("scatter", d, "of index must cover that of input");
    part.offset[d] = begin;
    part.size[d] = end - begin;
  }
  return part;
}

PreparedKernel prepareScatter(const KernelSpec &spec) {
  const TensorSpec &result = spec.outputs[0], &index = spec.inputs[1];
  Box part = scatteredPart(spec);
  if (result.box.empty())
    return doNothing();
  IndexLoops loops("scatter", index, part, result, spec.attrs.getInt("dim"));
  size_t bytes = result.box.numElements() * itemSize(result.dtype);
  std::string reduce = spec.attrs.getString("reduce");
  return dispatchIndex("scatter", index.dtype, [&](auto number) {
    using Index = typename decltype(number)::type;
    if (reduce == "none")
      return dispatchWord(result.dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        return scatterOf<T, Index>(loops, bytes,
                                   [](T &to, T value) { to = value; });
      });
    return dispatch(result.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (reduce == "add")
        return scatterOf<T, Index>(loops, bytes,
                                   [](T &to, T value) { addTo(to, value); });
      return scatterOf<T, Index>(loops, bytes,
                                 [](T &to, T value) { multiplyTo(to, value); });
    });
  });
}

DTORCH_CPU_KERNEL("gather", prepareGather);
DTORCH_CPU_KERNEL("scatter", prepareScatter);

} // namespace
} // namespace dtorch::cpu
