//===- StorageTest.cpp - memory, distribute and assemble ------------------===//
#include "dtorch/Runtime/Storage.h"
#include "dtorch/Runtime/StridedCopy.h"
#include "dtorch/Support/Error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

using namespace dtorch;

namespace {

MeshRef mesh(Shape shape) {
  std::vector<std::string> names;
  for (size_t a = 0; a < shape.size(); ++a)
    names.push_back("a" + std::to_string(a));
  return DeviceMesh::regular("cpu", names, shape);
}

StorageRef iota(int64_t count) {
  StorageRef storage = Storage::allocate(count * sizeof(float));
  float *data = static_cast<float *>(storage->data());
  std::iota(data, data + count, 1.0f);
  return storage;
}

TEST(StorageTest, OwnedMemoryIsAlignedAndNeverNull) {
  for (size_t bytes : {0, 1, 63, 64, 1000000}) {
    StorageRef storage = Storage::allocate(bytes);
    EXPECT_EQ(storage->size(), bytes);
    ASSERT_NE(storage->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(storage->data()) % 64, 0u);
  }
  EXPECT_NE(Storage::borrow(nullptr, 0, nullptr)->data(), nullptr);
}

TEST(StorageTest, BorrowedMemoryKeepsItsOwnerAlive) {
  auto owner = std::make_shared<std::vector<char>>(8);
  std::weak_ptr<std::vector<char>> watch = owner;
  StorageRef storage = Storage::borrow(owner->data(), 8, owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  storage.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(StorageTest, ZerosShareMemoryAndGrow) {
  StorageRef small = Storage::zeros(100), other = Storage::zeros(50);
  EXPECT_EQ(small->data(), other->data());
  StorageRef large = Storage::zeros(size_t(3) << 20);
  const char *data = static_cast<const char *>(large->data());
  EXPECT_EQ(std::count(data, data + large->size(), 0), int64_t(large->size()));
  EXPECT_EQ(static_cast<const char *>(small->data())[99], 0);
}

TEST(DistributeTest, RowShardsShareTheGlobalMemory) {
  StorageRef global = iota(5 * 3);
  BufferType type{{5, 3}, DType::Float32, {mesh({2}), {Placement::shard(0)}}};
  DistTensorRef tensor = distribute(global, type);
  const float *data = static_cast<const float *>(global->data());
  EXPECT_EQ(tensor->locals[0]->data(), data);
  EXPECT_EQ(tensor->locals[1]->data(), data + 9);
  EXPECT_EQ(tensor->locals[0]->size(), 36u);
  EXPECT_EQ(tensor->locals[1]->size(), 24u);
}

TEST(DistributeTest, ReplicasOfAColumnShardShareOneCopy) {
  StorageRef global = iota(4 * 6);
  BufferType type{
      {4, 6},
      DType::Float32,
      {mesh({2, 2}), {Placement::replicate(), Placement::shard(1)}}};
  DistTensorRef tensor = distribute(global, type);
  EXPECT_EQ(tensor->locals[0]->data(), tensor->locals[2]->data());
  EXPECT_EQ(tensor->locals[1]->data(), tensor->locals[3]->data());
  const float *right = static_cast<const float *>(tensor->locals[1]->data());
  EXPECT_EQ(std::vector<float>(right, right + 3),
            (std::vector<float>{4, 5, 6}));
}

TEST(DistributeTest, OnlyTheFirstDeviceOfAPendingAxisHoldsTheValue) {
  StorageRef global = iota(4);
  BufferType type{{4}, DType::Float32, {mesh({3}), {Placement::partial()}}};
  DistTensorRef tensor = distribute(global, type);
  EXPECT_EQ(tensor->locals[0]->data(), global->data());
  EXPECT_EQ(tensor->locals[1]->data(), Storage::zeros(16)->data());
  BufferType maximum{
      {4}, DType::Float32, {mesh({3}), {Placement::partial(ReduceKind::Max)}}};
  EXPECT_THROW(distribute(global, maximum), Error);
}

TEST(DistributeTest, TooLittleMemoryIsAnError) {
  BufferType type{{4}, DType::Float64, {mesh({2}), {Placement::shard(0)}}};
  EXPECT_THROW(distribute(iota(4), type), Error);
}

TEST(DistributeTest, AssembleGivesTheGlobalValueBack) {
  Shape shape{5, 6};
  StorageRef global = iota(30);
  for (const Placement &a :
       {Placement::replicate(), Placement::shard(0), Placement::shard(1),
        Placement::shard(1, 3), Placement::partial()})
    for (const Placement &b : {Placement::replicate(), Placement::shard(0),
                               Placement::shard(1, a.isShard(1) ? a.unit : 2),
                               Placement::partial()}) {
      BufferType type{shape, DType::Float32, {mesh({2, 3}), {a, b}}};
      DistTensorRef tensor = distribute(global, type);
      std::vector<float> value(30, -1);
      assemble(*tensor, value.data());
      EXPECT_EQ(std::memcmp(value.data(), global->data(), 120), 0)
          << type.str();
    }
}

TEST(StridedCopyTest, AgreesWithALoop) {
  // Permutes, a repeated dim and a sub-box, for every item size.
  Shape shape{3, 1, 40, 5};
  for (int64_t item : {1, 2, 4, 8})
    for (Shape source : {Shape{200, 200, 5, 1}, Shape{1, 0, 3, 120},
                         Shape{0, 7, 5, 1}, Shape{40, 0, 1, 200}}) {
      Shape target = rowMajorStrides(shape);
      std::vector<unsigned char> from(1000 * item),
          to(600 * item + 3 * item, 99);
      for (size_t i = 0; i < from.size(); ++i)
        from[i] = i * 7 % 251;
      StridedCopy(shape, source, target, item, 4, 3)
          .run(from.data(), to.data());
      for (int64_t a = 0; a < 3; ++a)
        for (int64_t c = 0; c < 40; ++c)
          for (int64_t d = 0; d < 5; ++d) {
            int64_t s = 4 + a * source[0] + c * source[2] + d * source[3];
            int64_t t = 3 + a * target[0] + c * target[2] + d * target[3];
            ASSERT_EQ(std::memcmp(&from[s * item], &to[t * item], item), 0);
          }
    }
}

} // namespace
