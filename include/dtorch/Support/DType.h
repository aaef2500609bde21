//===- DType.h - element types --------------------------------------------===//
#pragma once

#include <cstdint>
#include <string_view>

namespace dtorch {

enum class DType : uint8_t {
  Bool,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64
};

/// Bytes per element: 1, 4, 8, 2, 2, 4, 8.
int64_t itemSize(DType dtype);
bool isFloating(DType dtype);
/// PyTorch's name: "bool", "int32", …, "float32".
std::string_view toString(DType dtype);
/// MLIR's spelling: "i1", "i32", "i64", "f16", "bf16", "f32", "f64".
std::string_view mlirName(DType dtype);
/// Parses PyTorch's name; throws Error (Type).
DType parseDType(std::string_view name);
/// PyTorch's promotion of two tensors with dims (category, then size).
DType promote(DType a, DType b);

} // namespace dtorch
