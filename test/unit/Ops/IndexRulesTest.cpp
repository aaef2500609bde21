//===- IndexRulesTest.cpp - gather, index_select, scatter, updates, pad ---===//

#include "Helpers.h"

using namespace dtorch;

/// Rows without pending operands.
static Rows rows(const OpCall &call) {
  Rows all = rowsOf(bindRule(call));
  std::erase_if(all, [](const std::string &row) {
    return row.substr(0, row.find("->")).find('P') != std::string::npos ||
           row.find('S') == row.npos;
  });
  return all;
}

/// The pending kinds that pass, as "sum(0 2)max(0)".
static std::string pending(const OpCall &call) {
  std::string text;
  for (const PartialClause &clause : bindRule(call).partials) {
    text += std::string(toString(clause.kind)) + "(";
    for (size_t i = 0; i < clause.operands.size(); ++i)
      text += (i ? " " : "") + std::to_string(clause.operands[i]);
    text += ")";
  }
  return text;
}

static std::string error(const OpCall &call) {
  return errorOf([&] { inferTypes(call); });
}

static OpCall indexed(const char *op, std::vector<Shape> shapes, int64_t dim) {
  OpCall call = callOf(op, std::move(shapes), {{"dim", dim}});
  call.operands[1].dtype = DType::Int64;
  if (call.op->name == "scatter")
    call.attrs.set("reduce", std::string("none"));
  return call;
}

static OpCall update(Shape input, Shape value, Ints starts, Ints stops,
                     Ints steps) {
  return callOf("slice_update", {std::move(input), std::move(value)},
                {{"starts", std::move(starts)},
                 {"stops", std::move(stops)},
                 {"steps", std::move(steps)}});
}

TEST(GatherRule, Rows) {
  // Dim 1 is gathered along: a shard of the input leaves a sum.
  EXPECT_EQ(
      rows(indexed("gather", {{6, 4}, {6, 3}}, 1)),
      (Rows{"S(0),S(0)->S(0)", "R,S(0)->S(0)", "R,S(1)->S(1)", "S(1),R->P"}));
  // An index that is shorter in dim 0 has no shards in common with the input.
  EXPECT_EQ(rows(indexed("gather", {{6, 4}, {5, 3}}, 1)),
            (Rows{"R,S(0)->S(0)", "R,S(1)->S(1)", "S(1),R->P"}));
  EXPECT_EQ(pending(indexed("gather", {{6, 4}, {6, 3}}, 1)),
            "sum(0)max(0)min(0)");
  OpCall bools = indexed("gather", {{6, 4}, {6, 3}}, 1);
  bools.operands[0].dtype = DType::Bool;
  EXPECT_EQ(rows(bools),
            (Rows{"S(0),S(0)->S(0)", "R,S(0)->S(0)", "R,S(1)->S(1)"}));
  EXPECT_EQ(inferTypes(bools)[0].str(), "i1[6, 3]");
}

TEST(GatherRule, Errors) {
  EXPECT_EQ(error(indexed("gather", {{6, 4}, {7, 3}}, 1)),
            "gather: index must have the dims of input, none longer but dim 1, "
            "got shapes (7, 3) and (6, 4)");
  EXPECT_EQ(error(indexed("gather", {{6, 4}, {6, 3}}, 2)),
            "gather: dim must be in [0, 2), got 2");
  EXPECT_EQ(error(callOf("gather", {{6}, {6}}, {{"dim", int64_t(0)}})),
            "gather: index must be of int dtype, got float32");
}

TEST(IndexSelectRule, Rows) {
  EXPECT_EQ(rows(indexed("index_select", {{6, 4}, {5}}, 0)),
            (Rows{"S(1),R->S(1)", "R,S(0)->S(0)", "S(0),R->P"}));
  EXPECT_EQ(inferTypes(indexed("index_select", {{6, 4}, {5}}, 1))[0].shape,
            (Shape{6, 5}));
  EXPECT_EQ(error(indexed("index_select", {{6, 4}, {5, 1}}, 0)),
            "index_select: index must have 1 dim, got shape (5, 1)");
}

TEST(ScatterRule, Rows) {
  // A device writes what falls into its part, so dim 1 shards.
  EXPECT_EQ(rows(indexed("scatter", {{6, 4}, {6, 3}, {6, 3}}, 1)),
            (Rows{"S(0),S(0),S(0)->S(0)", "S(0),R,R->S(0)", "S(1),R,R->S(1)"}));
  EXPECT_EQ(rows(indexed("scatter", {{6, 4}, {5, 3}, {5, 3}}, 1)),
            (Rows{"S(0),R,R->S(0)", "S(1),R,R->S(1)"}));
  OpCall call = indexed("scatter", {{6, 4}, {6, 3}, {6, 3}}, 1);
  EXPECT_EQ(pending(call), "sum(0 2)max(0)min(0)max(0 2)min(0 2)max(2)min(2)");
  call.attrs.set("reduce", std::string("add"));
  EXPECT_EQ(pending(call), "sum(0 2)max(0)min(0)");
  call.attrs.set("reduce", std::string("multiply"));
  EXPECT_EQ(pending(call), "sum(0)");
  call.attrs.set("reduce", std::string("mean"));
  EXPECT_EQ(error(call),
            "scatter: reduce must be none, add or multiply, got 'mean'");
  EXPECT_EQ(error(indexed("scatter", {{6, 4}, {6, 3}, {6, 2}}, 1)),
            "scatter: src must have the shape of index, got (6, 2) and (6, 3)");
}

TEST(SliceUpdateRule, Rows) {
  OpCall call = update({6, 8}, {6, 2}, {0, 3}, {6, 7}, {1, 2});
  EXPECT_EQ(rows(call),
            (Rows{"S(0),S(0)->S(0)", "S(0),R->S(0)", "S(1),R->S(1)"}));
  EXPECT_EQ(error(update({6, 8}, {6, 3}, {0, 3}, {6, 7}, {1, 2})),
            "slice_update: value must have the shape of the slice, (6, 2), got "
            "(6, 3)");
  EXPECT_EQ(error(update({6}, {2}, {3}, {9}, {1})),
            "slice_update: dim 0: needs 0 <= start <= stop <= 6, got start 3 "
            "and stop 9");
}

TEST(PadRule, Rows) {
  auto pad = [](Ints before, Ints after) {
    return callOf("pad", {{6, 4}, {}},
                  {{"before", std::move(before)}, {"after", std::move(after)}});
  };
  EXPECT_EQ(rows(pad({0, 1}, {0, 2})), (Rows{"S(0),R->S(0)"}));
  EXPECT_EQ(inferTypes(pad({0, 1}, {0, 2}))[0].shape, (Shape{6, 7}));
  EXPECT_EQ(pending(pad({0, 1}, {0, 2})),
            "sum(0 1)max(0 1)min(0 1)max(0)min(0)max(1)min(1)");
  EXPECT_EQ(error(pad({0, -1}, {0, 0})),
            "pad: before and after must be at least 0, got (0, -1) and (0, 0)");
}

TEST(WhereRule, FollowsTheValues) {
  OpCall call = callOf("where", {{6, 4}, {4}, {}});
  call.operands[0].dtype = DType::Bool;
  EXPECT_EQ(inferTypes(call)[0].str(), "f32[6, 4]");
  EXPECT_EQ(rows(call), (Rows{"S(0),R,R->S(0)", "S(1),S(0),R->S(1)"}));
  EXPECT_EQ(pending(call), "sum(1 2)max(1 2)max(1)max(2)min(1 2)min(1)min(2)");
  // Sums of bools saturate.
  call.operands[1].dtype = call.operands[2].dtype = DType::Bool;
  EXPECT_EQ(pending(call), "max(1 2)max(1)max(2)min(1 2)min(1)min(2)");
  call.operands[0].dtype = DType::Int64;
  EXPECT_EQ(error(call), "where: condition must be bool, got int64");
}

TEST(ArgReduceRule, TakesTheDimWhole) {
  OpCall call = callOf("arg_reduce", {{6, 4}},
                       {{"kind", std::string("argmax")}, {"dim", int64_t(1)}});
  EXPECT_EQ(rowsOf(bindRule(call)), (Rows{"R->R", "S(0)->S(0)"}));
  EXPECT_EQ(inferTypes(call)[0].str(), "i64[6]");
}
