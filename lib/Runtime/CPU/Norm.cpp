//===- Norm.cpp - softmax, rms_norm and layer_norm ------------------------===//
#include "dtorch/Runtime/CPU/Kernel.h"
#include "dtorch/Runtime/CPU/Math.h"

namespace dtorch::cpu {
namespace {

/// Softmax of one contiguous row, or its logarithm; 16-bit rows through a float
/// scratch row.
template <typename T, bool Log> void softmaxRow(const T *x, T *y, int64_t n) {
  using C = Compute<T>;
  C *wide;
  if constexpr (is16Bit<T>) {
    wide = scratch<C>(n, 0);
    for (int64_t i = 0; i < n; ++i)
      wide[i] = convert<C>(x[i]);
  } else {
    wide = y;
    std::copy(x, x + n, y);
  }
  C top = laneMax(wide, n);
  if constexpr (Log) {
    C sum = laneSum<C>(n, [=](int64_t i) { return fastExp(wide[i] - top); });
    C log = std::log(sum);
    for (int64_t i = 0; i < n; ++i)
      y[i] = convert<T>(wide[i] - top - log);
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    wide[i] = fastExp(wide[i] - top);
  C sum = laneSum<C>(n, [wide](int64_t i) { return wide[i]; });
  C scale = C(1) / sum;
  for (int64_t i = 0; i < n; ++i)
    y[i] = convert<T>(wide[i] * scale);
}

/// The same over the first dim of an n x inner block, column by column in
/// groups.
template <typename T, bool Log>
void softmaxColumns(const T *x, T *y, int64_t n, int64_t inner) {
  using C = Compute<T>;
  constexpr int64_t group = 64;
  C top[group], sum[group];
  for (int64_t begin = 0; begin < inner; begin += group) {
    int64_t width = std::min(group, inner - begin);
    std::fill_n(top, width, lowest<C>());
    std::fill_n(sum, width, C(0));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) {
        C value = convert<C>(x[i * inner + begin + j]);
        top[j] = value > top[j] ? value : top[j];
      }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j)
        sum[j] += fastExp(convert<C>(x[i * inner + begin + j]) - top[j]);
    if constexpr (Log)
      for (int64_t j = 0; j < width; ++j)
        sum[j] = std::log(sum[j]);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) {
        int64_t at = i * inner + begin + j;
        C value = convert<C>(x[at]) - top[j];
        y[at] = convert<T>(Log ? value - sum[j] : fastExp(value) / sum[j]);
      }
  }
}

template <bool Log> PreparedKernel prepareSoftmax(const KernelSpec &spec) {
  const Shape &shape = spec.outputs[0].local();
  if (spec.outputs[0].box.empty())
    return doNothing();
  // A 0-dim tensor is one row of one element.
  int64_t dim = spec.attrs.getInt("dim");
  int64_t n = shape.empty() ? 1 : shape[dim];
  int64_t outer = shape.empty() ? 1 : product(shape, 0, dim);
  int64_t inner = shape.empty() ? 1 : product(shape, dim + 1, shape.size());
  const char *name = Log ? "log_softmax" : "softmax";
  return dispatchFloat(name, spec.inputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return PreparedKernel([=](const void *const *inputs, void *const *outputs) {
      for (int64_t o = 0; o < outer; ++o) {
        const T *x = in<T>(inputs, 0) + o * n * inner;
        T *y = out<T>(outputs) + o * n * inner;
        if (inner == 1)
          softmaxRow<T, Log>(x, y, n);
        else
          softmaxColumns<T, Log>(x, y, n, inner);
      }
    });
  });
}

struct RMSNorm {
  static constexpr const char *name = "rms_norm";
  template <typename T>
  static void run(const T *x, T *y, int64_t n, Compute<T> eps) {
    using C = Compute<T>;
    C squares = laneSum<C>(n, [x](int64_t i) {
      C value = convert<C>(x[i]);
      return value * value;
    });
    C scale = C(1) / std::sqrt(squares / C(n) + eps);
    for (int64_t i = 0; i < n; ++i)
      y[i] = convert<T>(convert<C>(x[i]) * scale);
  }
};

/// The variance is taken about the mean in a second pass over the row.
struct LayerNorm {
  static constexpr const char *name = "layer_norm";
  template <typename T>
  static void run(const T *x, T *y, int64_t n, Compute<T> eps) {
    using C = Compute<T>;
    C mean = laneSum<C>(n, [x](int64_t i) { return convert<C>(x[i]); }) / C(n);
    C squares = laneSum<C>(n, [x, mean](int64_t i) {
      C value = convert<C>(x[i]) - mean;
      return value * value;
    });
    C scale = C(1) / std::sqrt(squares / C(n) + eps);
    for (int64_t i = 0; i < n; ++i)
      y[i] = convert<T>((convert<C>(x[i]) - mean) * scale);
  }
};

/// Whether dims are the last ones; then rows are contiguous.
bool areTrailing(const Shape &dims, size_t rank) {
  std::vector<bool> normed(rank, false);
  for (int64_t d : dims)
    normed[d] = true;
  return std::is_sorted(normed.begin(), normed.end());
}

template <typename Norm> PreparedKernel prepareNorm(const KernelSpec &spec) {
  const TensorSpec &input = spec.inputs[0];
  const Shape &shape = input.local();
  requireDType((std::string(Norm::name) + ": eps").c_str(), spec.inputs[1],
               DType::Float32);
  if (input.box.empty())
    return doNothing();
  const Shape &dims = spec.attrs.getInts("dims");
  int64_t n = 1;
  for (int64_t d : dims)
    n *= shape[d];
  int64_t rows = input.box.numElements() / n;
  // Other dims are moved last, and the result back.
  bool trailing = areTrailing(dims, shape.size());
  StridedCopy gather, scatter;
  if (!trailing) {
    Shape order, rowShape, strides, own = rowMajorStrides(shape);
    for (bool normed : {false, true})
      for (size_t d = 0; d < shape.size(); ++d)
        if ((std::find(dims.begin(), dims.end(), int64_t(d)) != dims.end()) ==
            normed) {
          rowShape.push_back(shape[d]);
          strides.push_back(own[d]);
        }
    int64_t item = itemSize(input.dtype);
    gather = StridedCopy(rowShape, strides, rowMajorStrides(rowShape), item);
    scatter = StridedCopy(rowShape, rowMajorStrides(rowShape), strides, item);
  }
  return dispatchFloat(Norm::name, input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return PreparedKernel([=](const void *const *inputs, void *const *outputs) {
      Compute<T> eps = *in<float>(inputs, 1);
      const T *x = in<T>(inputs, 0);
      T *y = out<T>(outputs);
      if (!trailing) {
        T *moved = scratch<T>(rows * n, 1);
        gather.run(x, moved);
        x = y = moved;
      }
      for (int64_t r = 0; r < rows; ++r)
        Norm::run(x + r * n, y + r * n, n, eps);
      if (!trailing)
        scatter.run(y, outputs[0]);
    });
  });
}

DTORCH_CPU_KERNEL("softmax", prepareSoftmax<false>);
DTORCH_CPU_KERNEL("log_softmax", prepareSoftmax<true>);
DTORCH_CPU_KERNEL("rms_norm", prepareNorm<RMSNorm>);
DTORCH_CPU_KERNEL("layer_norm", prepareNorm<LayerNorm>);

} // namespace
} // namespace dtorch::cpu
