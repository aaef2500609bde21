//===- MeshTest.cpp -------------------------------------------------------===//

#include "Helpers.h"
#include "dtorch/Sharding/TensorSize.h"

using namespace dtorch;

static std::vector<int64_t> idsOf(const DeviceMesh &mesh) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < mesh.numDevices(); ++i)
    ids.push_back(mesh.deviceAt(i));
  return ids;
}

TEST(Mesh, RowMajorByDefault) {
  MeshRef mesh = meshOf({2, 3});
  EXPECT_EQ(idsOf(*mesh), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(mesh->coordinates(4), (Shape{1, 1}));
  EXPECT_EQ(mesh->indexOf(Shape{1, 1}), 4);
  EXPECT_EQ(mesh->requiredWorldSize(), 6);
  EXPECT_EQ(mesh->dimNameIndex("x1"), 1);
  EXPECT_EQ(mesh->dimNameIndex("tp"), std::nullopt);
}

TEST(Mesh, TransposedAndStridedIdsAreRegular) {
  MeshRef mesh =
      DeviceMesh::fromIds("cpu", {"a", "b"}, {2, 3}, {10, 14, 18, 12, 16, 20});
  EXPECT_TRUE(mesh->isRegular());
  EXPECT_EQ(mesh->start(), 10);
  EXPECT_EQ(mesh->strides(), (Shape{2, 4}));
  EXPECT_EQ(idsOf(*mesh), (std::vector<int64_t>{10, 14, 18, 12, 16, 20}));
  EXPECT_EQ(mesh->indexOfDevice(16), 4);
  EXPECT_EQ(mesh->indexOfDevice(11), std::nullopt);
  EXPECT_EQ(mesh->indexOfDevice(9), std::nullopt);
  EXPECT_EQ(mesh->indexOfDevice(22), std::nullopt);
  EXPECT_EQ(mesh->requiredWorldSize(), 21);
  EXPECT_EQ(*mesh, *DeviceMesh::regular("cpu", {"a", "b"}, {2, 3}, 10, {2, 4}));
}

TEST(Mesh, OtherIdsAreKept) {
  for (std::vector<int64_t> ids :
       {std::vector<int64_t>{3, 1, 0, 2}, {1, 0, 3, 2}, {0, 1, 2, 4}}) {
    MeshRef mesh = DeviceMesh::fromIds("cpu", {"a", "b"}, {2, 2}, ids);
    EXPECT_FALSE(mesh->isRegular());
    EXPECT_EQ(idsOf(*mesh), ids);
    for (size_t i = 0; i < ids.size(); ++i)
      EXPECT_EQ(mesh->indexOfDevice(ids[i]), static_cast<int64_t>(i));
    EXPECT_EQ(*DeviceMesh::parse(mesh->str()), *mesh);
  }
}

TEST(Mesh, InterleavedStridesAreKeptAsIds) {
  // 0 3 | 2 5 | 4 7: distinct, but no division takes them apart.
  MeshRef mesh = DeviceMesh::regular("cpu", {"a", "b"}, {3, 2}, 0, {2, 3});
  EXPECT_FALSE(mesh->isRegular());
  EXPECT_EQ(idsOf(*mesh), (std::vector<int64_t>{0, 3, 2, 5, 4, 7}));
}

TEST(Mesh, StrideOfASingleDeviceAxisMeansNothing) {
  EXPECT_EQ(*DeviceMesh::regular("cpu", {"a", "b"}, {1, 2}, 0, {7, 1}),
            *DeviceMesh::regular("cpu", {"a", "b"}, {1, 2}));
}

TEST(Mesh, PrintsAndParses) {
  MeshRef mesh = DeviceMesh::regular("cpu", {"dp", "tp"}, {2, 2});
  EXPECT_EQ(mesh->str(),
            "mesh<cpu, [\"dp\" = 2, \"tp\" = 2], start = 0, strides = [2, 1]>");
  EXPECT_EQ(DeviceMesh::host()->str(), "mesh<cpu, host>");
  MeshRef odd = DeviceMesh::regular("cuda", {"a \"b\" \\", ""}, {2, 1}, 5);
  for (const MeshRef &m :
       {mesh, odd, DeviceMesh::host(), mesh->unbind(0)[1],
        mesh->unbind(0)[1]->unbind(0)[1], meshOf({128, 128})})
    EXPECT_TRUE(sameMesh(DeviceMesh::parse(m->str()), m)) << m->str();
  EXPECT_NE(errorOf([] {
              DeviceMesh::parse("mesh<cpu, [\"a\" = 2]>");
            }).find("expected ','"),
            std::string::npos);
  EXPECT_NE(errorOf([] {
              DeviceMesh::parse("mesh<cpu, [\"a\" = 2], start = 0, "
                                "strides = [1, 2]>");
            }).find("one stride per axis"),
            std::string::npos);
}

TEST(Mesh, Unbind) {
  std::vector<MeshRef> parts = meshOf({2, 3})->unbind(1);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(idsOf(*parts[2]), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(parts[2]->dimNames(), (std::vector<std::string>{"x0"}));
  MeshRef one = parts[2]->unbind(0)[1];
  EXPECT_EQ(one->ndim(), 0);
  EXPECT_EQ(one->numDevices(), 1);
  EXPECT_EQ(one->deviceAt(0), 5);
  EXPECT_FALSE(one->isHost());
  EXPECT_FALSE(*one == *DeviceMesh::host());
  EXPECT_FALSE(*one == *parts[1]->unbind(0)[1]);

  MeshRef mixed =
      DeviceMesh::fromIds("cpu", {"a", "b"}, {2, 3}, {5, 0, 3, 1, 4, 2});
  EXPECT_EQ(idsOf(*mixed->unbind(0)[1]), (std::vector<int64_t>{1, 4, 2}));
  EXPECT_EQ(idsOf(*mixed->unbind(1)[0]), (std::vector<int64_t>{5, 1}));
  EXPECT_TRUE(mixed->unbind(1)[1]->isRegular()); // 0, 4
}

TEST(Mesh, Groups) {
  MeshRef mesh = meshOf({2, 3, 2});
  EXPECT_EQ(mesh->group(7, std::vector<int64_t>{1}),
            (std::vector<int64_t>{7, 9, 11}));
  EXPECT_EQ(mesh->group(7, std::vector<int64_t>{2, 0}),
            (std::vector<int64_t>{0, 1, 6, 7}));
  EXPECT_EQ(mesh->group(7, {}), (std::vector<int64_t>{7}));
}

TEST(Mesh, Errors) {
  auto regular = [](std::vector<std::string> names, Shape shape,
                    Shape strides) {
    return errorOf(
        [&] { DeviceMesh::regular("cpu", names, shape, 0, strides); });
  };
  EXPECT_EQ(regular({"a"}, {0}, {}),
            "device mesh: sizes must be at least 1, got (0,)");
  EXPECT_EQ(regular({"a", "a"}, {2, 2}, {}),
            "device mesh: axis name 'a' is used twice");
  EXPECT_EQ(regular({"a"}, {2, 2}, {}), "device mesh: needs one name per axis, "
                                        "got 1 names and shape (2, 2)");
  EXPECT_EQ(regular({"a", "b"}, {2, 2}, {1, 1}),
            "device mesh: device 1 is used twice");
  EXPECT_EQ(errorOf([] { DeviceMesh::fromIds("cpu", {"a"}, {2}, {1, 1}); }),
            "device mesh: device 1 is used twice");
  EXPECT_EQ(errorOf([] { DeviceMesh::fromIds("cpu", {"a"}, {2}, {1, 2, 3}); }),
            "device mesh: shape (2,) needs 2 devices, got 3");
  EXPECT_EQ(errorOf([] { DeviceMesh::fromIds("cpu", {"a"}, {2}, {-1, 0}); }),
            "device mesh: device numbers must be at least 0, got -1");
  EXPECT_EQ(regular({"a\n"}, {2}, {}),
            "device mesh: axis names must have no control characters");
}

TEST(Mesh, NumbersThatWouldOverflow) {
  const int64_t tera = int64_t(1) << 40, most = INT64_MAX;
  auto regular = [](Shape shape, int64_t start, Shape strides) {
    std::vector<std::string> names{"a", "b"};
    names.resize(shape.size());
    return errorOf(
        [&] { DeviceMesh::regular("cpu", names, shape, start, strides); });
  };
  EXPECT_EQ(DeviceMesh::regular("cpu", {"a"}, {tera})->requiredWorldSize(),
            tera);
  EXPECT_EQ(regular({tera, tera}, 0, {}),
            "device mesh: must have at most 2^40 devices, got shape "
            "(1099511627776, 1099511627776)");
  EXPECT_EQ(regular({2}, most, {}),
            "device mesh: device numbers must be below 2^40, got start "
            "9223372036854775807 and strides (1,) for shape (2,)");
  EXPECT_EQ(regular({3}, 0, {most}),
            "device mesh: device numbers must be below 2^40, got start 0 and "
            "strides (9223372036854775807,) for shape (3,)");
  EXPECT_NE(regular({3}, 0, {-most - 1}), "");
  EXPECT_NE(regular({tera}, 1, {}), "");
  EXPECT_NE(regular({tera / 2, 2}, 0, {0, 1}), "");
  EXPECT_EQ(errorOf([=] { DeviceMesh::fromIds("cpu", {"a"}, {2}, {0, tera}); }),
            "device mesh: device numbers must be below 2^40, got "
            "1099511627776");
}

TEST(Mesh, TensorsThatAreTooLarge) {
  const int64_t half = int64_t(1) << 24;
  EXPECT_NO_THROW(checkSize(Shape{half, 0, half}));
  EXPECT_EQ(errorOf([] { checkSize(Shape{0, INT64_MAX}); }),
            "tensor: must have at most 2^48 elements, got shape "
            "(0, 9223372036854775807)");
  EXPECT_EQ(errorOf([=] { checkSize(Shape{half, 2, half}); }),
            "tensor: must have at most 2^48 elements, got shape "
            "(16777216, 2, 16777216)");
}
