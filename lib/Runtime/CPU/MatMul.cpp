//===- MatMul.cpp - linear and matmul -------------------------------------===//
//
// fp32 goes to oneDNN. 16-bit operands are widened into scratch memory, panel
// by panel of the weight, multiplied in fp32, and rounded once. fp64 and
// integers are plain loops.
//
//===----------------------------------------------------------------------===//
#include "dtorch/Runtime/CPU/Gemm.h"
#include "dtorch/Runtime/CPU/Kernel.h"
#include "dtorch/Runtime/CPU/Math.h"

namespace dtorch::cpu {
namespace {

template <typename From, typename To>
void convertAll(const From *x, To *y, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] = convert<To>(x[i]);
}

/// An empty sum is 0.
PreparedKernel zeros(int64_t bytes) {
  return [bytes](const void *const *, void *const *outputs) {
    std::fill_n(out<char>(outputs), bytes, 0);
  };
}

PreparedKernel linearF32(int64_t m, int64_t n, int64_t k) {
  Gemm gemm(m, n, k, true);
  return [gemm](const void *const *inputs, void *const *outputs) {
    gemm.run(in<float>(inputs, 0), in<float>(inputs, 1), out<float>(outputs));
  };
}

template <typename T> PreparedKernel linear16(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t panel = 256;
  int64_t width = std::min(panel, n), tail = n % width;
  Gemm full(m, width, k, true), last(m, tail ? tail : width, k, true);
  return [=](const void *const *inputs, void *const *outputs) {
    float *x = scratch<float>(m * k, 0), *w = scratch<float>(width * k, 1);
    float *c = scratch<float>(m * width, 2);
    convertAll(in<T>(inputs, 0), x, m * k);
    for (int64_t begin = 0; begin < n; begin += width) {
      int64_t count = std::min(width, n - begin);
      convertAll(in<T>(inputs, 1) + begin * k, w, count * k);
      (count == width ? full : last).run(x, w, c);
      for (int64_t i = 0; i < m; ++i)
        convertAll(c + i * count, out<T>(outputs) + i * n + begin, count);
    }
  };
}

template <typename T>
PreparedKernel linearPlain(int64_t m, int64_t n, int64_t k) {
  return [=](const void *const *inputs, void *const *outputs) {
    const T *x = in<T>(inputs, 0), *w = in<T>(inputs, 1);
    T *y = out<T>(outputs);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const T *a = x + i * k, *b = w + j * k;
        y[i * n + j] =
            laneSum<T>(k, [a, b](int64_t at) { return a[at] * b[at]; });
      }
  };
}

PreparedKernel prepareLinear(const KernelSpec &spec) {
  const TensorSpec &x = spec.inputs[0], &w = spec.inputs[1],
                   &y = spec.outputs[0];
  if (y.box.empty())
    return doNothing();
  int64_t n = w.local()[0], k = w.local()[1], m = y.box.numElements() / n;
  if (k == 0)
    return zeros(m * n * itemSize(y.dtype));
  switch (x.dtype) {
  case DType::Float32:
    return linearF32(m, n, k);
  case DType::Float16:
    return linear16<Half>(m, n, k);
  case DType::BFloat16:
    return linear16<BFloat16>(m, n, k);
  case DType::Float64:
    return linearPlain<double>(m, n, k);
  case DType::Int32:
    return linearPlain<int32_t>(m, n, k);
  case DType::Int64:
    return linearPlain<int64_t>(m, n, k);
  default:
    throwAbsent("linear", x.dtype);
  }
}

/// Element offsets of the matrices of each batch.
struct Batches {
  std::vector<int64_t> lhs, rhs;
};

Batches batchesOf(const TensorSpec &lhs, const TensorSpec &rhs,
                  const Shape &shape) {
  Shape sizes(shape.begin(), shape.end() - 2), result;
  Batches batches;
  for (auto [operand, offsets] :
       {std::pair(&lhs, &batches.lhs), {&rhs, &batches.rhs}}) {
    Shape strides = broadcastStrides(*operand, shape.size());
    forEachOffset(sizes, strides, [offsets = offsets](int64_t offset) {
      offsets->push_back(offset);
    });
  }
  return batches;
}

PreparedKernel matmulF32(Batches batches, int64_t m, int64_t n, int64_t k) {
  Gemm gemm(m, n, k, false);
  return [=](const void *const *inputs, void *const *outputs) {
    for (size_t i = 0; i < batches.lhs.size(); ++i)
      gemm.run(in<float>(inputs, 0) + batches.lhs[i],
               in<float>(inputs, 1) + batches.rhs[i],
               out<float>(outputs) + i * m * n);
  };
}

template <typename T>
PreparedKernel matmul16(Batches batches, int64_t m, int64_t n, int64_t k) {
  Gemm gemm(m, n, k, false);
  return [=](const void *const *inputs, void *const *outputs) {
    float *a = scratch<float>(m * k, 0), *b = scratch<float>(k * n, 1);
    float *c = scratch<float>(m * n, 2);
    for (size_t i = 0; i < batches.lhs.size(); ++i) {
      convertAll(in<T>(inputs, 0) + batches.lhs[i], a, m * k);
      convertAll(in<T>(inputs, 1) + batches.rhs[i], b, k * n);
      gemm.run(a, b, c);
      convertAll(c, out<T>(outputs) + i * m * n, m * n);
    }
  };
}

template <typename T>
PreparedKernel matmulPlain(Batches batches, int64_t m, int64_t n, int64_t k) {
  return [=](const void *const *inputs, void *const *outputs) {
    for (size_t batch = 0; batch < batches.lhs.size(); ++batch) {
      const T *a = in<T>(inputs, 0) + batches.lhs[batch];
      const T *b = in<T>(inputs, 1) + batches.rhs[batch];
      T *c = out<T>(outputs) + batch * m * n;
      for (int64_t i = 0; i < m; ++i) {
        std::fill_n(c + i * n, n, T(0));
        for (int64_t p = 0; p < k; ++p)
          for (int64_t j = 0; j < n; ++j)
            c[i * n + j] += a[i * k + p] * b[p * n + j];
      }
    }
  };
}

PreparedKernel prepareMatmul(const KernelSpec &spec) {
  const TensorSpec &lhs = spec.inputs[0], &rhs = spec.inputs[1];
  const TensorSpec &result = spec.outputs[0];
  if (result.box.empty())
    return doNothing();
  size_t rank = result.local().size();
  int64_t m = result.local()[rank - 2], n = result.local()[rank - 1];
  int64_t k = lhs.local().back();
  if (k == 0)
    return zeros(result.box.numElements() * itemSize(result.dtype));
  Batches batches = batchesOf(lhs, rhs, result.local());
  // One right matrix for all batches, and left ones in a row: one product.
  bool oneRight = std::all_of(batches.rhs.begin(), batches.rhs.end(),
                              [](int64_t offset) { return offset == 0; });
  bool dense = true;
  for (size_t i = 0; i < batches.lhs.size(); ++i)
    dense &= batches.lhs[i] == static_cast<int64_t>(i) * m * k;
  if (oneRight && dense) {
    m *= batches.lhs.size();
    batches = {{0}, {0}};
  }
  switch (lhs.dtype) {
  case DType::Float32:
    return matmulF32(batches, m, n, k);
  case DType::Float16:
    return matmul16<Half>(batches, m, n, k);
  case DType::BFloat16:
    return matmul16<BFloat16>(batches, m, n, k);
  case DType::Float64:
    return matmulPlain<double>(batches, m, n, k);
  case DType::Int32:
    return matmulPlain<int32_t>(batches, m, n, k);
  case DType::Int64:
    return matmulPlain<int64_t>(batches, m, n, k);
  default:
    throwAbsent("matmul", lhs.dtype);
  }
}

DTORCH_CPU_KERNEL("linear", prepareLinear);
DTORCH_CPU_KERNEL("matmul", prepareMatmul);

} // namespace
} // namespace dtorch::cpu
