//===- KernelRegistry.h - kernels by op name ------------------------------===//
#pragma once

#include "dtorch/Sharding/ShardLaw.h"
#include "dtorch/Support/Attrs.h"
#include "dtorch/Support/DType.h"

#include <functional>
#include <string_view>
#include <vector>

namespace dtorch {

/// What one device sees of a tensor: element type, global shape, and its box,
/// which the memory holds dense and row-major. Kernels read positions (causal
/// masks, vocabulary offsets, random counters) from the box.
struct TensorSpec {
  DType dtype;
  Shape global;
  Box box;
  const Shape &local() const { return box.size; }
};

struct KernelSpec {
  std::vector<TensorSpec> inputs, outputs;
  Attrs attrs;
};

/// A kernel bound to shapes; called with the data pointers. Empty outputs are
/// legal and do nothing; a reduction over an empty dim writes its identity.
using PreparedKernel =
    std::function<void(const void *const *inputs, void *const *outputs)>;

/// Binds a kernel for one device of type "cpu"; does all set-up work. Throws
/// Error (Absent) for element types it does not take.
using PrepareKernel = PreparedKernel (*)(const KernelSpec &);

/// Registration beside the kernel's body:
///   DTORCH_CPU_KERNEL("softmax", prepareSoftmax);
struct KernelRegistration {
  KernelRegistration(std::string_view name, PrepareKernel prepare);
};
#define DTORCH_CPU_KERNEL_CONCAT_(a, b) a##b
#define DTORCH_CPU_KERNEL_NAME_(line) DTORCH_CPU_KERNEL_CONCAT_(cpuKernel, line)
#define DTORCH_CPU_KERNEL(name, prepare)                                       \
  static ::dtorch::KernelRegistration DTORCH_CPU_KERNEL_NAME_(__LINE__)(       \
      name, prepare)

/// The kernel of an op; throws Error (Absent) naming the op.
PrepareKernel lookupKernel(std::string_view name);
std::vector<std::string_view> kernelNames();

} // namespace dtorch
