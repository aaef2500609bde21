//===- AttentionRuleTest.cpp - scaled dot-product attention ---------------===//

#include "Helpers.h"

using namespace dtorch;

static std::string error(const OpCall &call) {
  return errorOf([&] { bindRule(call); });
}

TEST(AttentionRule, Rows) {
  // query (B, H, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev), scale.
  OpCall call = attentionCall({2, 6, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 8});
  EXPECT_EQ(inferTypes(call)[0].str(), "f32[2, 6, 5, 8]");
  EXPECT_EQ(rowsOf(bindRule(call)),
            (Rows{"R,R,R,R->R", "S(0),S(0),S(0),R->S(0)",
                  "S(1),S(1),S(1),R->S(1)", "S(1),R,R,R->S(1)",
                  "S(2),R,R,R->S(2)", "R,R,S(3),R->S(3)", "R,R,P,R->P"}));
}

TEST(AttentionRule, TheMaskFollowsWhereItIsNotBroadcast) {
  auto rows = [](Shape mask) {
    Rows all = rowsOf(bindRule(
        attentionCall({2, 6, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 4}, mask)));
    return Rows(all.begin() + 1, all.begin() + 5);
  };
  EXPECT_EQ(rows({5, 7}),
            (Rows{"S(0),S(0),S(0),R,R->S(0)", "S(1),S(1),S(1),R,R->S(1)",
                  "S(1),R,R,R,R->S(1)", "S(2),R,R,R,S(0)->S(2)"}));
  EXPECT_EQ(rows({2, 1, 5, 7}),
            (Rows{"S(0),S(0),S(0),R,S(0)->S(0)", "S(1),S(1),S(1),R,R->S(1)",
                  "S(1),R,R,R,R->S(1)", "S(2),R,R,R,S(2)->S(2)"}));
  EXPECT_EQ(rows({1, 6, 1, 7}),
            (Rows{"S(0),S(0),S(0),R,R->S(0)", "S(1),S(1),S(1),R,S(1)->S(1)",
                  "S(1),R,R,R,S(1)->S(1)", "S(2),R,R,R,R->S(2)"}));
}

TEST(AttentionRule, GroupedQueryHeads) {
  MeshRef m2 = meshOf({2});
  // 4 query heads a K/V head; both divide.
  OpCall even = attentionCall({1, 8, 5, 4}, {1, 2, 5, 4}, {1, 2, 5, 4});
  EXPECT_EQ(choose(even, m2, {"S(1)", "S(1)", "S(1)", "R"}),
            "[S(1)] [S(1)] [S(1)] [R] -> [S(1)]");
  // K/V heads do not divide by tp = 4: they stay whole, queries shard.
  EXPECT_EQ(choose(even, meshOf({4}), {"S(1)", "R", "R", "R"}),
            "[S(1)] [R] [R] [R] -> [S(1)]");
  // 9 query heads on 3 K/V heads (SmolLM2), tp = 2: 5 and 4.
  OpCall smol = attentionCall({1, 9, 5, 4}, {1, 3, 5, 4}, {1, 3, 5, 4});
  EXPECT_EQ(choose(smol, m2, {"S(1)", "R", "R", "R"}),
            "[S(1)] [R] [R] [R] -> [S(1)]");
  // Blocks of 3 query heads are what K/V heads as 2 and 1 serve.
  EXPECT_EQ(choose(smol, m2, {"S(1:3)", "S(1)", "S(1)", "R"}),
            "[S(1:3)] [S(1)] [S(1)] [R] -> [S(1:3)]");
  // 5 and 4 query heads are not: one head moves to the other device.
  EXPECT_EQ(choose(smol, m2, {"S(1)", "S(1)", "S(1)", "R"}),
            "[S(1:3)] [S(1)] [S(1)] [R] -> [S(1:3)] (20/1)");
  // One K/V head, sharded over two devices (on the first), moves.
  OpCall single = attentionCall({1, 4, 5, 4}, {1, 1, 5, 4}, {1, 1, 5, 4});
  EXPECT_EQ(choose(single, m2, {"S(1)", "R", "R", "R"}),
            "[S(1)] [R] [R] [R] -> [S(1)]");
  EXPECT_EQ(choose(single, m2, {"S(1:4)", "S(1)", "S(1)", "R"}),
            "[S(1:4)] [S(1)] [S(1)] [R] -> [S(1:4)]");
}

TEST(AttentionRule, HeadsOverTwoAxes) {
  MeshRef m = meshOf({2, 2});
  OpCall call = attentionCall({1, 8, 5, 4}, {1, 2, 5, 4}, {1, 2, 5, 4});
  // K/V follow the outer axis alone; each device still has what it needs.
  EXPECT_EQ(choose(call, m, {"S(1) S(1)", "S(1) R", "S(1) R", "R R"}),
            "[S(1), S(1)] [S(1), R] [S(1), R] [R, R] -> [S(1), S(1)]");
  // Following the inner axis alone, device (0, 1) would have K/V head 1 but
  // query heads of K/V head 0.
  std::vector<Sharding> operands =
      on(m, {"S(1) S(1)", "R S(1)", "R S(1)", "R R"});
  EXPECT_FALSE(matches(bindRule(call), operands, on(m, {"S(1) S(1)"})));
  EXPECT_NE(choose(call, m, {"S(1) S(1)", "R S(1)", "R S(1)", "R R"}), "none");
}

TEST(AttentionRule, RowsShardWithWholeKeys) {
  MeshRef m = meshOf({2});
  OpCall call = attentionCall({1, 4, 6, 4}, {1, 4, 6, 4}, {1, 4, 6, 4}, {6, 6});
  EXPECT_EQ(choose(call, m, {"S(2)", "R", "R", "R", "R"}),
            "[S(2)] [R] [R] [R] [S(0)] -> [S(2)] (0/0)");
  // All on the sequence: three all-to-alls to heads receive less than two
  // gathers of keys and values.
  EXPECT_EQ(choose(call, m, {"S(2)", "S(2)", "S(2)", "R", "R"}),
            "[S(1)] [S(1)] [S(1)] [R] [R] -> [S(1)] (72/3)");
  EXPECT_EQ(choose(call, m, {"S(2)", "S(2)", "S(2)", "R", "R"}, true), "none");
}

TEST(AttentionRule, Errors) {
  Shape s = {2, 4, 5, 8};
  EXPECT_EQ(
      error(attentionCall(s, {2, 3, 5, 8}, {2, 3, 5, 8})),
      "sdpa: heads of query must be a multiple of heads of key, got 4 and "
      "3");
  EXPECT_EQ(error(attentionCall(s, {1, 4, 5, 8}, {1, 4, 5, 8})),
            "sdpa: dim -4 of query must equal dim -4 of key, got 2 and 1");
  EXPECT_EQ(error(attentionCall(s, {2, 4, 5, 6}, s)),
            "sdpa: dim -1 of query must equal dim -1 of key, got 8 and 6");
  EXPECT_EQ(error(attentionCall(s, s, {2, 4, 6, 8})),
            "sdpa: dim -2 of key must equal dim -2 of value, got 5 and 6");
  EXPECT_EQ(error(attentionCall({4, 8}, {4, 8}, {4, 8})),
            "sdpa: query, key and value must have equally many dims, at least "
            "3, got shapes (4, 8), (4, 8) and (4, 8)");
  EXPECT_EQ(error(attentionCall(s, s, s, {4, 5})),
            "sdpa: mask must broadcast to (2, 4, 5, 5), got shape (4, 5)");
}
