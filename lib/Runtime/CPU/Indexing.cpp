//===- Indexing.cpp - what kernels with index tensors share ---------------===//
#include "dtorch/Runtime/CPU/Indexing.h"

namespace dtorch::cpu {

void throwOutside(const char *op, int64_t index, int64_t n) {
  throw Error(std::string(op) + ": index " + std::to_string(index) +
                  " is outside [" + std::to_string(-n) + ", " +
                  std::to_string(n) + ")",
              ErrorKind::Index);
}

void throwUnfit(const char *op, size_t dim, const char *rule) {
  throw Error(std::string(op) + ": dim " + std::to_string(dim) + " " + rule,
              ErrorKind::Placement);
}

} // namespace dtorch::cpu
