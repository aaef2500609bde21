//===- OpTableTest.cpp - the generated table, checks and result types -----===//

#include "Helpers.h"

using namespace dtorch;

static std::string error(const OpCall &call) {
  return errorOf([&] { inferTypes(call); });
}

static OpCall withDTypes(OpCall call, std::vector<DType> dtypes) {
  for (size_t i = 0; i < dtypes.size(); ++i)
    call.operands[i].dtype = dtypes[i];
  return call;
}

static Attrs kind(const char *name) { return {{"kind", std::string(name)}}; }

TEST(OpTable, HoldsTheOps) {
  EXPECT_EQ(lookupOp("nothing"), nullptr);
  const OpInfo *linear = lookupOp("linear");
  ASSERT_NE(linear, nullptr);
  EXPECT_EQ(linear->operandNames[1], "weight");
  EXPECT_EQ(allOps()[0].name, "unary"); // the order of the definitions
  EXPECT_EQ(allOps()[1].name, "binary");
  const OpInfo *sdpa = lookupOp("sdpa");
  EXPECT_EQ(sdpa->minOperands, 4);
  EXPECT_EQ(sdpa->maxOperands, 5);
  EXPECT_EQ(lookupOp("cat")->maxOperands, -1);
  EXPECT_EQ(lookupOp("cast")->attrs[0].type, AttrType::DType);
  for (const OpInfo &op : allOps())
    EXPECT_EQ(!op.rule.results.empty() + !op.kinds.empty() +
                  (op.ruleFunction != nullptr),
              1)
        << op.name;
}

TEST(OpTable, ResultTypes) {
  auto str = [](const OpCall &call) { return inferTypes(call)[0].str(); };
  EXPECT_EQ(str(callOf("linear", {{2, 3, 8}, {5, 8}})), "f32[2, 3, 5]");
  EXPECT_EQ(str(callOf("binary", {{3, 1}, {4}}, kind("lt"))), "i1[3, 4]");
  EXPECT_EQ(
      str(withDTypes(callOf("unary", {{3}}, kind("exp")), {DType::Int64})),
      "f32[3]");
  EXPECT_EQ(
      str(withDTypes(callOf("unary", {{3}}, kind("exp")), {DType::BFloat16})),
      "bf16[3]");
  EXPECT_EQ(
      str(withDTypes(callOf("unary", {{3}}, kind("neg")), {DType::Int64})),
      "i64[3]");
  EXPECT_EQ(str(callOf("cast", {{3}}, {{"dtype", std::string("float16")}})),
            "f16[3]");
  EXPECT_EQ(str(embeddingCall({61, 32}, {2, 7})), "f32[2, 7, 32]");
  EXPECT_EQ(str(callOf("rms_norm", {{2, 8}, {}}, {{"dims", Ints{1}}})),
            "f32[2, 8]");
}

TEST(OpTable, OperandChecks) {
  EXPECT_EQ(error(callOf("linear", {{2, 7}, {3, 8}})),
            "linear: dim -1 of input must equal dim 1 of weight, got 7 and 8");
  EXPECT_EQ(error(callOf("linear", {{2, 7}})),
            "linear: takes 2 tensors, got 1");
  EXPECT_EQ(error(callOf("sdpa", {{1}}, {{"is_causal", true}})),
            "sdpa: takes 4 to 5 tensors, got 1");
  EXPECT_EQ(error(callOf("cat", {}, {{"dim", int64_t(0)}})),
            "cat: takes at least 1 tensors, got 0");
  EXPECT_EQ(error(callOf("matmul", {{2, 3}, {4, 5}})),
            "matmul: dim -1 of lhs must equal dim -2 of rhs, got 3 and 4");
  EXPECT_EQ(error(callOf("binary", {{2, 3}, {4}}, kind("add"))),
            "add: dim -1 of lhs must equal dim -1 of rhs or be 1, got 3 and 4");
}

TEST(OpTable, DTypeChecks) {
  EXPECT_EQ(error(withDTypes(callOf("linear", {{2, 8}, {3, 8}}),
                             {DType::Float32, DType::BFloat16})),
            "linear: input and weight must have one dtype, got float32 and "
            "bfloat16");
  EXPECT_EQ(error(callOf("embedding", {{4, 2}, {3}})),
            "embedding: indices must be of int dtype, got float32");
  EXPECT_EQ(error(withDTypes(callOf("softmax", {{4}}, {{"dim", int64_t(0)}}),
                             {DType::Int32})),
            "softmax: input must be of float dtype, got int32");
  EXPECT_EQ(
      error(withDTypes(callOf("rms_norm", {{2, 8}, {}}, {{"dims", Ints{1}}}),
                       {DType::BFloat16, DType::Float64})),
      "rms_norm: eps must be float32, got float64");
  EXPECT_EQ(
      error(callOf("arange", {{}, {}},
                   {{"size", int64_t(3)}, {"dtype", std::string("int64")}})),
      "arange: start must be int64 or float64, got float32");
  EXPECT_EQ(
      error(withDTypes(callOf("cat", {{2}, {2}, {2}}, {{"dim", int64_t(0)}}),
                       {DType::Float32, DType::Float32, DType::Int32})),
      "cat: inputs[0] and inputs[2] must have one dtype, got float32 and "
      "int32");
  OpCall sdpa = attentionCall({1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, {3, 3});
  EXPECT_EQ(inferTypes(sdpa)[0].str(), "f32[1, 2, 3, 4]");
  sdpa.operands[4].dtype = DType::Float32;
  EXPECT_EQ(inferTypes(sdpa)[0].str(), "f32[1, 2, 3, 4]");
  sdpa.operands[4].dtype = DType::Int64;
  EXPECT_EQ(error(sdpa), "sdpa: mask must be bool or have the dtype of query, "
                         "got float32 and int64");
}

TEST(OpTable, AttributeChecks) {
  EXPECT_EQ(error(callOf("softmax", {{4}})),
            "softmax: attribute 'dim' is missing");
  EXPECT_EQ(error(callOf("softmax", {{4}}, {{"dim", true}})),
            "softmax: attribute 'dim' must be an int");
  EXPECT_EQ(error(callOf("softmax", {{4}}, {{"dim", int64_t(1)}})),
            "softmax: dim must be in [0, 1) of input of shape (4,), got 1");
  EXPECT_EQ(error(callOf("binary", {{4}, {4}}, kind("plus"))).substr(0, 38),
            "binary: kind must be one of add, sub, ");
  EXPECT_EQ(error(callOf("cast", {{4}}, {{"dtype", std::string("f32")}}))
                .substr(0, 23),
            "dtype: must be one of b");
}

TEST(OpTable, ErrorKinds) {
  auto kindOf = [](const OpCall &call) {
    try {
      bindRule(call);
    } catch (const Error &error) {
      return error.kind;
    }
    return ErrorKind::Runtime;
  };
  EXPECT_EQ(kindOf(callOf("linear", {{2, 7}, {3, 8}})), ErrorKind::Value);
  EXPECT_EQ(kindOf(callOf("linear", {{2, 7}})), ErrorKind::Type);
  EXPECT_EQ(kindOf(callOf("softmax", {{4}}, {{"dim", int64_t(1)}})),
            ErrorKind::Index);
}

TEST(OpTable, PendingRows) {
  auto rows = [](const OpCall &call) { return rowsOf(bindRule(call)); };
  EXPECT_EQ(rows(callOf("binary", {{4}, {4}}, kind("add"))),
            (Rows{"R,R->R", "S(0),S(0)->S(0)", "P,P->P", "P(max),R->P(max)",
                  "R,P(max)->P(max)", "P(min),R->P(min)", "R,P(min)->P(min)"}));
  EXPECT_EQ(rows(callOf("unary", {{4}}, kind("silu"))),
            (Rows{"R->R", "S(0)->S(0)"}));
  EXPECT_EQ(
      rows(embeddingCall({5, 6}, {3})),
      (Rows{"R,R->R", "R,S(0)->S(0)", "S(0),R->P", "S(1),R->S(1)", "P,R->P"}));
  // Sums of bools saturate: neither made nor passed.
  EXPECT_EQ(rows(withDTypes(callOf("reduce", {{4}},
                                   {{"kind", std::string("sum")},
                                    {"dims", Ints{0}},
                                    {"keepdim", false}}),
                            {DType::Bool})),
            (Rows{"R->R"}));
  EXPECT_EQ(rows(callOf("reduce", {{4, 3}},
                        {{"kind", std::string("amax")},
                         {"dims", Ints{0}},
                         {"keepdim", false}})),
            (Rows{"R->R", "S(0)->P(max)", "S(1)->S(0)", "P(max)->P(max)"}));
}

TEST(OpTable, CastsPassPendingSumsWhenWidening) {
  auto passes = [](DType from, const char *to) {
    OpCall call = callOf("cast", {{}}, {{"dtype", std::string(to)}});
    call.operands[0].dtype = from;
    std::string kinds;
    for (const PartialClause &clause : bindRule(call).partials)
      kinds += toString(clause.kind);
    return kinds;
  };
  EXPECT_EQ(passes(DType::BFloat16, "float32"), "summaxmin");
  EXPECT_EQ(passes(DType::Float32, "float64"), "summaxmin");
  EXPECT_EQ(passes(DType::Float32, "float32"), "summaxmin");
  EXPECT_EQ(passes(DType::Float32, "bfloat16"), "maxmin");
  EXPECT_EQ(passes(DType::BFloat16, "float16"), "maxmin");
  EXPECT_EQ(passes(DType::Float32, "int64"), "");
  EXPECT_EQ(passes(DType::Int32, "int64"), "");
  EXPECT_EQ(passes(DType::Int64, "float64"), "");
}
