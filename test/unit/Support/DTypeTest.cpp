//===- DTypeTest.cpp ------------------------------------------------------===//

#include "dtorch/Support/DType.h"
#include "dtorch/Support/Error.h"

#include <gtest/gtest.h>

using namespace dtorch;

static constexpr DType all[] = {DType::Bool,    DType::Int32,    DType::Int64,
                                DType::Float16, DType::BFloat16, DType::Float32,
                                DType::Float64};

TEST(DType, NamesAndSizes) {
  std::string names, mlir;
  int64_t bytes = 0;
  for (DType dtype : all) {
    EXPECT_EQ(parseDType(toString(dtype)), dtype);
    names += std::string(toString(dtype)) + " ";
    mlir += std::string(mlirName(dtype)) + " ";
    bytes = bytes * 10 + itemSize(dtype);
  }
  EXPECT_EQ(names, "bool int32 int64 float16 bfloat16 float32 float64 ");
  EXPECT_EQ(mlir, "i1 i32 i64 f16 bf16 f32 f64 ");
  EXPECT_EQ(bytes, 1482248);
}

TEST(DType, UnknownNamesAreTypeErrors) {
  try {
    parseDType("float8");
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Type);
    EXPECT_STREQ(error.what(),
                 "dtype: must be one of bool, int32, int64, float16, bfloat16, "
                 "float32, float64, got 'float8'");
  }
}

TEST(DType, PromotionIsPyTorchs) {
  EXPECT_EQ(promote(DType::Int64, DType::Float16), DType::Float16);
  EXPECT_EQ(promote(DType::Bool, DType::Int32), DType::Int32);
  EXPECT_EQ(promote(DType::Int32, DType::Int64), DType::Int64);
  EXPECT_EQ(promote(DType::Float16, DType::BFloat16), DType::Float32);
  EXPECT_EQ(promote(DType::BFloat16, DType::Float32), DType::Float32);
  EXPECT_EQ(promote(DType::Float64, DType::Float16), DType::Float64);
  for (DType a : all)
    for (DType b : all)
      EXPECT_EQ(promote(a, b), promote(b, a));
}
