//===- RuleTextTest.cpp - parsing and binding rules -----------------------===//

#include "Helpers.h"

using namespace dtorch;

/// One row a word: "S(0),R->S(0)".
static std::vector<std::string> rowsOf(const BoundRule &rule) {
  std::vector<std::string> out;
  for (const Row &row : rule.rows()) {
    std::string text;
    for (const Placement &p : row.operands)
      text += (text.empty() ? "" : ",") + p.str();
    text += "->";
    for (const Placement &p : row.results)
      text += p.str();
    out.push_back(text);
  }
  return out;
}

using Rows = std::vector<std::string>;

static BoundRule bind(std::string_view text, std::vector<Shape> shapes,
                      Attrs attrs = {}) {
  return PlacementRule::parse(text).bind("op", shapes, {}, attrs);
}

TEST(RuleText, Mistakes) {
  auto mistake = [](std::string_view text) {
    std::string error = errorOf([&] { PlacementRule::parse(text); });
    EXPECT_NE(error.find("of '" + std::string(text) + "'"), std::string::npos)
        << error;
    return error.substr(0, error.find(" at column"));
  };
  EXPECT_EQ(mistake("a b"), "placement rule: expected '->'");
  EXPECT_EQ(mistake("a a -> a"),
            "placement rule: factor 'a' twice in one tensor");
  EXPECT_EQ(mistake("(a b -> a"), "placement rule: expected a factor");
  EXPECT_EQ(mistake("(a b"), "placement rule: missing ')'");
  EXPECT_EQ(mistake("a ) -> a"), "placement rule: expected a factor");
  EXPECT_EQ(mistake("() -> "), "placement rule: '()' names no factor");
  EXPECT_EQ(mistake("... ... -> ..."),
            "placement rule: '...' twice in one tensor");
  EXPECT_EQ(mistake("a ... -> a ..."), "placement rule: '...' must come first");
  EXPECT_EQ(mistake("a -> a ; wholee: a"),
            "placement rule: unknown clause 'wholee'");
  EXPECT_EQ(mistake("a -> a ; whole: q"),
            "placement rule: no tensor has factor 'q'");
  EXPECT_EQ(mistake("a -> a ; whole:"),
            "placement rule: clause 'whole' is empty");
  EXPECT_EQ(mistake("a b -> a"),
            "placement rule: no result has factor 'b'; say reduce or whole");
  EXPECT_EQ(mistake("a -> a ; reduce: a=sum"),
            "placement rule: reduced factor 'a' is in a result");
  EXPECT_EQ(mistake("a b -> a ; reduce: b=mean"),
            "placement rule: expected sum, max or min");
  EXPECT_EQ(mistake("a -> a ; partial: sum(1)"),
            "placement rule: there is no operand 1");
  EXPECT_EQ(mistake("a -> a ; partial: sum(0 0)"),
            "placement rule: operand 0 twice");
  EXPECT_EQ(mistake("a -> a ; partial: sum()"),
            "placement rule: '()' names no operand");
  EXPECT_EQ(mistake("a, b -> a b ; select: a(1)"),
            "placement rule: operand 1 has no factor 'a'");
  EXPECT_EQ(mistake("a -> a b ->"), "placement rule: unexpected '->'");
}

TEST(RuleRows, Linear) {
  BoundRule rule = bind("... k, n k -> ... n ; reduce: k=sum ; "
                        "partial: sum(0) sum(1)",
                        {{2, 5, 8}, {6, 8}});
  EXPECT_EQ(rule.resultShapes, (std::vector<Shape>{{2, 5, 6}}));
  EXPECT_EQ(rowsOf(rule),
            (Rows{"R,R->R", "S(0),R->S(0)", "S(1),R->S(1)", "S(2),S(1)->P",
                  "R,S(0)->S(2)", "P,R->P", "R,P->P"}));
}

TEST(RuleRows, MatmulBroadcastsBatchDims) {
  BoundRule rule = bind("... m k, ... k n -> ... m n ; reduce: k=sum",
                        {{3, 1, 4, 5}, {2, 5, 6}});
  EXPECT_EQ(rule.resultShapes, (std::vector<Shape>{{3, 2, 4, 6}}));
  EXPECT_EQ(rowsOf(rule),
            (Rows{"R,R->R", "S(0),R->S(0)", "R,S(0)->S(1)", "S(2),R->S(2)",
                  "S(3),S(1)->P", "R,S(2)->S(3)"}));
}

TEST(RuleRows, SingleRowDims) {
  // A dim of size 1 that broadcasts never shards; one that does not, may.
  EXPECT_EQ(rowsOf(bind("..., ... -> ...", {{1, 3}, {4, 1}})),
            (Rows{"R,R->R", "R,S(0)->S(0)", "S(1),R->S(1)"}));
  EXPECT_EQ(rowsOf(bind("..., ... -> ...", {{1, 3}, {3}})),
            (Rows{"R,R->R", "S(0),R->S(0)", "S(1),S(0)->S(1)"}));
  EXPECT_EQ(rowsOf(bind("..., ... -> ...", {{1}, {1}})),
            (Rows{"R,R->R", "S(0),S(0)->S(0)"}));
}

TEST(RuleRows, EmptyDimsNeverShard) {
  EXPECT_EQ(
      rowsOf(bind("... k, n k -> ... n ; reduce: k=sum", {{3, 0}, {2, 0}})),
      (Rows{"R,R->R", "S(0),R->S(0)", "R,S(0)->S(1)"}));
}

TEST(RuleRows, AttributesNameDims) {
  const char *softmax = "... -> ... ; whole: [dim]";
  EXPECT_EQ(rowsOf(bind(softmax, {{2, 3, 4}}, {{"dim", int64_t(1)}})),
            (Rows{"R->R", "S(0)->S(0)", "S(2)->S(2)"}));
  const char *sum = "... -> ... ; reduce: [dims]=sum ; partial: sum(0)";
  Attrs attrs = {{"dims", std::vector<int64_t>{0, 2}}, {"keepdim", false}};
  BoundRule rule = bind(sum, {{2, 3, 4}}, attrs);
  EXPECT_EQ(rule.resultShapes[0], (Shape{3}));
  EXPECT_EQ(rowsOf(rule),
            (Rows{"R->R", "S(0)->P", "S(1)->S(0)", "S(2)->P", "P->P"}));
  attrs.set("keepdim", true);
  rule = bind(sum, {{2, 3, 4}}, attrs);
  EXPECT_EQ(rule.resultShapes[0], (Shape{1, 3, 1}));
  EXPECT_EQ(rowsOf(rule),
            (Rows{"R->R", "S(0)->P", "S(1)->S(1)", "S(2)->P", "P->P"}));

  // Reduced, but whole.
  EXPECT_EQ(
      rowsOf(bind("... -> ... ; reduce: [dims]=none", {{2, 3, 4}}, attrs)),
      (Rows{"R->R", "S(1)->S(1)"}));
  auto error = [&](std::vector<int64_t> dims) {
    return errorOf([&] { bind(sum, {{2, 3}}, {{"dims", dims}}); });
  };
  EXPECT_EQ(error({2}), "op: dims must be in [0, 2) of operand 0 of shape "
                        "(2, 3), got 2");
  EXPECT_EQ(error({-1}), "op: dims must be in [0, 2) of operand 0 of shape "
                         "(2, 3), got -1");
  EXPECT_EQ(error({1, 1}), "op: dims must be unique, got 1 twice");
  EXPECT_EQ(errorOf([&] { bind(sum, {{2, 3}}); }), "attribute 'dims': missing");
}

TEST(RuleRows, CompositeDims) {
  const char *merge = "b h d -> b (h d)";
  BoundRule rule = bind(merge, {{2, 9, 64}});
  EXPECT_EQ(rule.resultShapes[0], (Shape{2, 576}));
  EXPECT_EQ(rowsOf(rule), (Rows{"R->R", "S(0)->S(0)", "S(1)->S(1)"}));
  EXPECT_EQ(rule.operands[0][1], (DimFactor{1, 64}));
  EXPECT_EQ(rule.results[0][1], (DimFactor{1, 1}));
  EXPECT_EQ(rule.factors[1].size, 576);
  // Of (h d) with a single h, d is the outermost factor longer than 1.
  EXPECT_EQ(rowsOf(bind(merge, {{2, 1, 64}})),
            (Rows{"R->R", "S(0)->S(0)", "S(2)->S(1)"}));

  PlacementRule split = PlacementRule::parse("b (h d) -> b h d");
  std::vector<std::pair<std::string, int64_t>> sizes = {{"d", 64}};
  std::vector<Shape> shapes = {{2, 576}};
  EXPECT_EQ(split.bind("op", shapes, sizes).resultShapes[0], (Shape{2, 9, 64}));
  shapes = {{2, 100}};
  EXPECT_EQ(errorOf([&] { split.bind("op", shapes, sizes); }),
            "op: dim 1 of operand 0 must be a multiple of 64, got 100");
}

TEST(RuleRows, SelectOperandsMayStay) {
  EXPECT_EQ(
      rowsOf(
          bind("h q, h k -> h q ; whole: k ; select: h(1)", {{4, 3}, {4, 2}})),
      (Rows{"R,R->R", "S(0),S(0)->S(0)", "S(0),R->S(0)", "S(1),R->S(1)"}));
}

TEST(RuleBind, Errors) {
  auto error = [](std::string_view text, std::vector<Shape> shapes) {
    return errorOf([&] {
      std::vector<std::string_view> names = {"input", "weight"};
      PlacementRule::parse(text).bind("linear", shapes, {}, {}, names);
    });
  };
  const char *linear = "... k, n k -> ... n ; reduce: k=sum";
  EXPECT_EQ(error(linear, {{2, 7}, {3, 8}}),
            "linear: dim -1 of input must equal dim 1 of weight, got 7 and 8");
  EXPECT_EQ(error(linear, {{}, {3, 8}}),
            "linear: input must have at least 1 dim, got shape ()");
  EXPECT_EQ(error(linear, {{8}, {8}}),
            "linear: weight must have 2 dims, got shape (8,)");
  EXPECT_EQ(error(linear, {{8}}), "linear: needs 2 tensors, got 1");
  EXPECT_EQ(error("..., ... -> ...", {{2, 3}, {4}}),
            "linear: dim -1 of input must equal dim -1 of weight or be 1, got "
            "3 and 4");
}
