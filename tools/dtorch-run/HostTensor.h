//===- HostTensor.h - whole tensors in host memory ------------------------===//
#pragma once

#include "dtorch/Ops/OpTable.h"
#include "dtorch/Runtime/Storage.h"

#include <map>
#include <string>

namespace dtorch {

/// A whole value, dense and row-major.
struct HostTensor {
  TensorType type;
  StorageRef data;
};
using HostTensors = std::map<std::string, HostTensor>;

/// Elements as numbers; bool is 0 or 1.
std::vector<double> toNumbers(const HostTensor &tensor);
HostTensor fromNumbers(const TensorType &type,
                       const std::vector<double> &numbers);

/// `f32[2, 2] [[1, 2], [3, 4]]`; long tensors are cut.
std::string str(const HostTensor &tensor);

/// How random tensors are drawn.
struct RandomOptions {
  uint64_t seed = 0;
  bool normal = false; ///< floating: standard normal, else whole numbers
  int64_t maxInt =
      3; ///< whole numbers: [-maxInt, maxInt]; integers [0, maxInt]
};

/// Values that depend on seed, name and type only, so that two functions with
/// one argument name get the same.
HostTensor randomTensor(const std::string &name, const TensorType &type,
                        const RandomOptions &options);

} // namespace dtorch
