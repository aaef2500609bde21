//===- ShapeRulesTest.cpp - view, permute, expand, slice, cat, factories --===//

#include "Helpers.h"

using namespace dtorch;

static Rows rows(const OpCall &call) {
  Rows all = rowsOf(bindRule(call));
  std::erase_if(all, [](const std::string &row) {
    return row.find('P') != std::string::npos || row.find('S') == row.npos;
  });
  return all;
}

static Shape shapeOf(const OpCall &call) {
  return bindRule(call).resultShapes[0];
}

static std::string error(const OpCall &call) {
  return errorOf([&] { bindRule(call); });
}

static OpCall view(Shape from, Shape to) {
  return callOf("view", {std::move(from)}, {{"shape", std::move(to)}});
}

TEST(ViewRule, Groups) {
  EXPECT_EQ(rows(view({2, 7, 24}, {2, 7, 6, 4})),
            (Rows{"S(0)->S(0)", "S(1)->S(1)", "S(2)->S(2)"}));
  EXPECT_EQ(rows(view({2, 7, 6, 4}, {2, 7, 24})),
            (Rows{"S(0)->S(0)", "S(1)->S(1)", "S(2)->S(2)"}));
  EXPECT_EQ(rows(view({2, 7, 24}, {14, 24})),
            (Rows{"S(0)->S(0)", "S(2)->S(1)"}));
  EXPECT_EQ(rows(view({4, 6}, {3, 8})), (Rows{"S(0)->S(0)"}));
  EXPECT_EQ(rows(view({2, 3, 4, 5}, {6, 20})),
            (Rows{"S(0)->S(0)", "S(2)->S(1)"}));
  EXPECT_EQ(rows(view({}, {1, 1})), (Rows{}));
}

TEST(ViewRule, DimsOfSizeOne) {
  EXPECT_EQ(rows(view({1, 7}, {1, 7})), (Rows{"S(0)->S(0)", "S(1)->S(1)"}));
  EXPECT_EQ(rows(view({1, 7, 8}, {1, 7, 2, 4})),
            (Rows{"S(0)->S(0)", "S(1)->S(1)", "S(2)->S(2)"}));
  EXPECT_EQ(rows(view({7}, {1, 7})), (Rows{"S(0)->S(1)"}));
  EXPECT_EQ(rows(view({1, 7}, {7})), (Rows{"S(1)->S(0)"}));
  EXPECT_EQ(rows(view({7, 1}, {1, 7})), (Rows{"S(0)->S(1)"}));
  EXPECT_EQ(rows(view({4, 1, 6}, {24})), (Rows{"S(0)->S(0)"}));
  EXPECT_EQ(rows(view({8}, {1, 2, 1, 4})), (Rows{"S(0)->S(1)"}));
}

TEST(ViewRule, WithoutElements) {
  EXPECT_EQ(rows(view({0, 4}, {0, 8})), (Rows{}));
  EXPECT_EQ(rows(view({3, 0, 4}, {3, 2, 0, 4})),
            (Rows{"S(0)->S(0)", "S(2)->S(3)"}));
  EXPECT_EQ(shapeOf(view({0, 4}, {2, 0})), (Shape{2, 0}));
  EXPECT_EQ(rows(view({5, 0}, {5, 0})), (Rows{"S(0)->S(0)"}));
}

TEST(ViewRule, Errors) {
  EXPECT_EQ(error(view({2, 3}, {4})),
            "view: shape (4,) must have as many elements as input of shape (2, "
            "3), got 4 and 6");
  EXPECT_EQ(error(view({2, 3}, {-1, 3})),
            "view: sizes of shape must be at least 0, got (-1, 3)");
}

TEST(ViewRule, UnitsComeAlong) {
  // 576 as blocks of 64 on two devices is nine heads as 5 and 4, and back.
  MeshRef m = meshOf({2});
  OpCall split = view({2, 3, 576}, {2, 3, 9, 64});
  OpCall merge = view({2, 3, 9, 64}, {2, 3, 576});
  EXPECT_EQ(choose(split, m, {"S(2:64)"}), "[S(2:64)] -> [S(2)]");
  EXPECT_EQ(choose(merge, m, {"S(2)"}), "[S(2)] -> [S(2:64)]");
  // 288 and 288 elements are no heads.
  EXPECT_EQ(choose(split, m, {"S(2)"}), "[S(2:64)] -> [S(2)] (192/1)");
  EXPECT_EQ(choose(split, m, {"S(2)"}, true), "none");
  // On three devices nine heads are even.
  EXPECT_EQ(choose(split, meshOf({3}), {"S(2)"}), "[S(2)] -> [S(2)]");
  EXPECT_EQ(choose(split, meshOf({4}), {"S(2:64)"}), "[S(2:64)] -> [S(2)]");
  EXPECT_EQ(choose(split, meshOf({2, 2}), {"S(2:64) S(2:64)"}),
            "[S(2:64), S(2:64)] -> [S(2), S(2)]");
  EXPECT_EQ(choose(view({3, 7, 4}, {21, 4}), m, {"S(0)"}),
            "[S(0)] -> [S(0:7)]");
  EXPECT_EQ(choose(view({4, 7, 4}, {28, 4}), m, {"S(0)"}), "[S(0)] -> [S(0)]");
  // Blocks of 32 do not fit heads of 64: gathered or exchanged.
  EXPECT_EQ(choose(split, m, {"S(2:192)"}), "[S(2:192)] -> [S(2:3)]");
}

TEST(ShapeRules, Permute) {
  OpCall call = callOf("permute", {{2, 3, 4}}, {{"dims", Ints{2, 0, 1}}});
  EXPECT_EQ(shapeOf(call), (Shape{4, 2, 3}));
  EXPECT_EQ(rows(call), (Rows{"S(0)->S(1)", "S(1)->S(2)", "S(2)->S(0)"}));
  EXPECT_EQ(choose(call, meshOf({2}), {"P(max)"}), "[P(max)] -> [P(max)]");
  call.attrs.set("dims", Ints{0, 0, 1});
  EXPECT_EQ(error(call), "permute: dims must be unique, got 0 twice");
  call.attrs.set("dims", Ints{0, 1, 3});
  EXPECT_EQ(error(call), "permute: dims must be in [0, 3), got 3");
  call.attrs.set("dims", Ints{0, 1});
  EXPECT_EQ(error(call),
            "permute: dims needs one number per dim, 3, got (0, 1)");
}

TEST(ShapeRules, Expand) {
  OpCall call = callOf("expand", {{3, 1, 4}}, {{"shape", Ints{2, 3, 5, 4}}});
  EXPECT_EQ(rows(call),
            (Rows{"R->S(0)", "S(0)->S(1)", "R->S(2)", "S(2)->S(3)"}));
  EXPECT_EQ(choose(call, meshOf({2}), {"R"}), "[R] -> [R]");
  EXPECT_EQ(choose(call, meshOf({2}), {"S(2)"}), "[S(2)] -> [S(3)]");
  // The one row of a repeated dim cannot stay on one device.
  EXPECT_EQ(choose(call, meshOf({2}), {"S(1)"}), "[S(0)] -> [S(1)] (4/1)");
  call.attrs.set("shape", Ints{2, 3, 5, 7});
  EXPECT_EQ(error(call), "expand: dim -1 of input must be 7 or 1, got 4");
  call.attrs.set("shape", Ints{5, 4});
  EXPECT_EQ(error(call), "expand: shape (5, 4) must have at least the dims of "
                         "input of shape (3, 1, 4)");
}

static OpCall slice(Shape in, Ints starts, Ints stops, Ints steps) {
  return callOf("slice", {in},
                {{"starts", starts}, {"stops", stops}, {"steps", steps}});
}

TEST(ShapeRules, Slice) {
  OpCall call = slice({8, 5, 3}, {1, 0, 0}, {8, 5, 3}, {3, 1, 2});
  EXPECT_EQ(shapeOf(call), (Shape{3, 5, 2}));
  EXPECT_EQ(rows(call), (Rows{"S(1)->S(1)"}));
  EXPECT_EQ(shapeOf(slice({8}, {4}, {4}, {1})), (Shape{0}));
  EXPECT_EQ(shapeOf(slice({8}, {0}, {7}, {7})), (Shape{1}));
  EXPECT_EQ(error(slice({8}, {3}, {9}, {1})),
            "slice: dim 0: needs 0 <= start <= stop <= 8, got start 3 and stop "
            "9");
  EXPECT_EQ(error(slice({8}, {3}, {2}, {1})),
            "slice: dim 0: needs 0 <= start <= stop <= 8, got start 3 and stop "
            "2");
  EXPECT_EQ(error(slice({8}, {3}, {5}, {0})),
            "slice: dim 0: step must be at least 1, got 0");
}

TEST(ShapeRules, Cat) {
  OpCall call = callOf("cat", {{2, 3}, {2, 4}}, {{"dim", int64_t(1)}});
  EXPECT_EQ(shapeOf(call), (Shape{2, 7}));
  EXPECT_EQ(rows(call), (Rows{"S(0),S(0)->S(0)"}));
  EXPECT_EQ(choose(call, meshOf({2}), {"P", "P"}), "[P] [P] -> [P]");
  EXPECT_EQ(choose(call, meshOf({2}), {"P", "R"}), "[P] [P] -> [P] (0/0)");
  EXPECT_EQ(error(callOf("cat", {{2, 3}, {3, 4}}, {{"dim", int64_t(1)}})),
            "cat: shapes must be equal but for dim 1, got (2, 3) and (3, 4) "
            "(inputs[1])");
  EXPECT_EQ(error(callOf("cat", {{2, 3}, {2}}, {{"dim", int64_t(1)}})),
            "cat: shapes must be equal but for dim 1, got (2, 3) and (2,) "
            "(inputs[1])");
  EXPECT_EQ(error(callOf("cat", {{2, 3}}, {{"dim", int64_t(2)}})),
            "cat: dim must be in [0, 2), got 2");
}

TEST(ShapeRules, Factories) {
  OpCall full = callOf(
      "full", {{}}, {{"shape", Ints{2, 0}}, {"dtype", std::string("int64")}});
  EXPECT_EQ(inferTypes(full)[0].str(), "i64[2, 0]");
  EXPECT_EQ(rows(full), (Rows{"R->S(0)"}));
  EXPECT_EQ(choose(full, meshOf({2}), {"R"}), "[R] -> [R]");
  full.operands[0].shape = {1};
  EXPECT_EQ(error(full), "full: value must have 0 dims, got shape (1,)");

  OpCall random = callOf("random", {{}, {}},
                         {{"kind", std::string("normal")},
                          {"shape", Ints{3}},
                          {"dtype", std::string("float32")}});
  random.operands[0].dtype = random.operands[1].dtype = DType::Int64;
  EXPECT_EQ(inferTypes(random)[0].str(), "f32[3]");
  random.attrs.set("kind", std::string("cauchy"));
  EXPECT_EQ(error(random), "random: kind must be normal or uniform, got "
                           "'cauchy'");
  random.attrs.set("kind", std::string("uniform"));
  random.attrs.set("dtype", std::string("int64"));
  EXPECT_EQ(error(random), "random: dtype must be floating, got int64");

  OpCall arange =
      callOf("arange", {{}, {}},
             {{"size", int64_t(-1)}, {"dtype", std::string("int64")}});
  arange.operands[0].dtype = arange.operands[1].dtype = DType::Int64;
  EXPECT_EQ(error(arange), "arange: size must be at least 0, got -1");
}
