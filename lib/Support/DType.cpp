//===- DType.cpp - element types ------------------------------------------===//

#include "dtorch/Support/DType.h"

#include "dtorch/Support/Error.h"

#include <array>

using namespace dtorch;

namespace {

/// Promotion looks at the category first, then at the size.
enum class Category : uint8_t { Bool, Int, Float };

struct Info {
  std::string_view name, mlir;
  int64_t size;
  Category category;
};

constexpr std::array<Info, 7> infos = {{
    {"bool", "i1", 1, Category::Bool},
    {"int32", "i32", 4, Category::Int},
    {"int64", "i64", 8, Category::Int},
    {"float16", "f16", 2, Category::Float},
    {"bfloat16", "bf16", 2, Category::Float},
    {"float32", "f32", 4, Category::Float},
    {"float64", "f64", 8, Category::Float},
}};

const Info &info(DType dtype) { return infos[static_cast<size_t>(dtype)]; }

} // namespace

int64_t dtorch::itemSize(DType dtype) { return info(dtype).size; }

bool dtorch::isFloating(DType dtype) {
  return info(dtype).category == Category::Float;
}

std::string_view dtorch::toString(DType dtype) { return info(dtype).name; }

std::string_view dtorch::mlirName(DType dtype) { return info(dtype).mlir; }

DType dtorch::parseDType(std::string_view name) {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name)
      return static_cast<DType>(i);
  std::string known;
  for (const Info &i : infos)
    known += (known.empty() ? "" : ", ") + std::string(i.name);
  throw Error("dtype: must be one of " + known + ", got '" + std::string(name) +
                  "'",
              ErrorKind::Type);
}

DType dtorch::promote(DType a, DType b) {
  if (a == b)
    return a;
  const Info &ia = info(a), &ib = info(b);
  if (ia.category != ib.category)
    return ia.category > ib.category ? a : b;
  if (ia.size != ib.size)
    return ia.size > ib.size ? a : b;
  return DType::Float32; // float16 and bfloat16 hold neither each other
}
