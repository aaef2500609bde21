//===- ShardLawTest.cpp - the law, normal forms and equal layouts ---------===//

#include "Helpers.h"

using namespace dtorch;

static std::vector<int64_t> sizes(int64_t n, int64_t k, int64_t unit = 1) {
  std::vector<int64_t> out;
  int64_t next = 0;
  for (int64_t r = 0; r < k; ++r) {
    Interval part = shardOf({0, n}, k, r, unit);
    EXPECT_EQ(part.offset, next);
    next = part.end();
    out.push_back(part.size);
  }
  EXPECT_EQ(next, n);
  return out;
}

TEST(ShardLaw, IsBalanced) {
  using V = std::vector<int64_t>;
  EXPECT_EQ(sizes(5, 4), (V{2, 1, 1, 1}));
  EXPECT_EQ(sizes(7, 4), (V{2, 2, 2, 1}));
  EXPECT_EQ(sizes(9, 4), (V{3, 2, 2, 2}));
  EXPECT_EQ(sizes(10, 4), (V{3, 3, 2, 2}));
  EXPECT_EQ(sizes(17, 4), (V{5, 4, 4, 4}));
  EXPECT_EQ(sizes(3, 4), (V{1, 1, 1, 0}));
  EXPECT_EQ(sizes(1, 2), (V{1, 0}));
  EXPECT_EQ(sizes(0, 3), (V{0, 0, 0}));
}

TEST(ShardLaw, UnitsSplitBlocks) {
  using V = std::vector<int64_t>;
  EXPECT_EQ(sizes(576, 2, 64), (V{320, 256}));
  EXPECT_EQ(sizes(6, 4, 2), (V{2, 2, 2, 0}));
  EXPECT_EQ(sizes(6, 4, 6), (V{6, 0, 0, 0}));
}

TEST(ShardLaw, AxesSplitOneAfterTheOther) {
  MeshRef mesh = meshOf({2, 2});
  Sharding s = on(mesh, "S(0) S(0)");
  std::vector<Interval> parts;
  for (int64_t i = 0; i < 4; ++i)
    parts.push_back(localInterval(5, 0, s, mesh->coordinates(i)));
  EXPECT_EQ(parts, (std::vector<Interval>{{0, 2}, {2, 1}, {3, 1}, {4, 1}}));
  EXPECT_EQ(localBox(Shape{5, 3}, on(mesh, "S(1) P"), Shape{1, 1}),
            (Box{{0, 2}, {5, 1}}));
}

TEST(ShardLaw, LocalShapes) {
  MeshRef mesh = meshOf({2, 3});
  EXPECT_EQ(maxLocalShape(Shape{5, 6}, on(mesh, "S(0) S(1)")), (Shape{3, 2}));
  EXPECT_EQ(localTypeShape(Shape{5, 6}, on(mesh, "S(0) S(1)")), (Shape{-1, 2}));
  EXPECT_EQ(localTypeShape(Shape{6, 6}, on(mesh, "S(0:2) R")), (Shape{-1, 6}));
  EXPECT_EQ(localTypeShape(Shape{5, 6}, on(mesh, "P R")), (Shape{5, 6}));
  EXPECT_EQ(localTypeShape(Shape{5, 6}, Sharding::host()), (Shape{5, 6}));
}

TEST(ShardLaw, Boxes) {
  Box a{{0, 2}, {3, 4}}, b{{2, 0}, {4, 3}}, c{{5, 5}, {1, 1}};
  EXPECT_EQ(intersect(a, b), (Box{{2, 2}, {1, 1}}));
  EXPECT_TRUE(intersect(a, c).empty());
}

TEST(Sharding, NormalForm) {
  auto normal = [](Shape mesh, const char *placements, Shape shape) {
    return normalised(on(meshOf(mesh), placements), shape).placementsStr();
  };
  EXPECT_EQ(normal({1, 2}, "S(0) S(0)", {4}), "[R, S(0)]");
  EXPECT_EQ(normal({1, 2}, "P P(max)", {4}), "[R, P(max)]");
  EXPECT_EQ(normal({2}, "S(0:64)", {576}), "[S(0:64)]");
  EXPECT_EQ(normal({3}, "S(0:64)", {576}), "[S(0)]");
  EXPECT_EQ(normal({3, 2}, "S(0:64) S(0:64)", {576}), "[S(0:64), S(0:64)]");
  EXPECT_EQ(normal({3, 2}, "S(0:64) R", {576}), "[S(0), R]");
  EXPECT_EQ(normal({2}, "S(0)", {0, 3}), "[R]");
}

/// Same boxes and same pending axes, device by device.
static bool sameBoxes(const Sharding &a, const Sharding &b,
                      const Shape &shape) {
  for (int64_t i = 0; i < a.mesh->numDevices(); ++i) {
    Shape coords = a.mesh->coordinates(i);
    if (localBox(shape, a, coords) != localBox(shape, b, coords))
      return false;
  }
  for (size_t axis = 0; axis < a.placements.size(); ++axis)
    if (a.mesh->axisSize(axis) > 1 &&
        (a.placements[axis].isPartial() || b.placements[axis].isPartial()) &&
        a.placements[axis] != b.placements[axis])
      return false;
  return true;
}

TEST(Sharding, SameLayoutIsWhatTheLawSays) {
  std::vector<Placement> options = {Placement::replicate(),
                                    Placement::shard(0),
                                    Placement::shard(0, 2),
                                    Placement::shard(0, 3),
                                    Placement::shard(1),
                                    Placement::partial(),
                                    Placement::partial(ReduceKind::Max)};
  int64_t same = 0;
  for (Shape meshShape :
       {Shape{2}, {3}, {4}, {2, 2}, {1, 3}, {3, 2}, {2, 1, 2}}) {
    MeshRef mesh = meshOf(meshShape);
    for (int64_t n : {0, 1, 2, 4, 5, 6, 9, 12, 18})
      for (int64_t m : {0, 3}) {
        Shape shape = {n, m};
        std::vector<Sharding> legal;
        for (Sharding &s : allShardings(mesh, options)) {
          try {
            s.verify(shape);
            legal.push_back(s);
          } catch (const Error &) {
          }
        }
        for (const Sharding &a : legal)
          for (const Sharding &b : legal) {
            ASSERT_EQ(sameLayout(a, b, shape), sameBoxes(a, b, shape))
                << mesh->str() << toString(shape) << a.placementsStr()
                << b.placementsStr();
            same += !(a == b) && sameLayout(a, b, shape);
          }
      }
  }
  EXPECT_GT(same, 1000); // the cases are not all trivial
}

TEST(Sharding, Verify) {
  MeshRef mesh = meshOf({2, 2});
  auto error = [&](const char *placements) {
    return errorOf([&] { on(mesh, placements).verify(Shape{6, 4}); });
  };
  EXPECT_EQ(error("S(2) R"), "placements [S(2), R]: dim must be in [0, 2) of a "
                             "tensor of shape (6, 4), got 2");
  EXPECT_EQ(error("S(-1) R"), "placements [S(-1), R]: dim must be in [0, 2) of "
                              "a tensor of shape (6, 4), got -1");
  EXPECT_EQ(error("S(0:4) R"),
            "placements [S(0:4), R]: unit must be at least 1 "
            "and divide dim 0 of size 6, got 4");
  EXPECT_EQ(error("S(0:2) S(0:3)"),
            "placements [S(0:2), S(0:3)]: axes that shard dim 0 must have one "
            "unit, got 2 and 3");
  EXPECT_EQ(error("S(0)"),
            "placements [S(0)]: need one per mesh axis, 2, got 1");
  on(mesh, "S(0:2) S(0:2)").verify(Shape{6, 4});
}

TEST(Placement, PrintsAndParses) {
  for (const char *text :
       {"R", "S(0)", "S(3)", "S(0:64)", "P", "P(max)", "P(min)", "S(-1)"})
    EXPECT_EQ(Placement::parse(text).str(), text);
  EXPECT_EQ(Placement::parse("P(sum)").str(), "P");
  EXPECT_EQ(Placement::parse(" S( 1 : 2 ) "), Placement::shard(1, 2));
  for (const char *text : {"", "Q", "S", "S()", "S(0", "S(0:)", "P(mean)",
                           "R R", "S(99999999999999999999)", "S(123456)"})
    EXPECT_THROW(Placement::parse(text), Error) << text;
}
