//===- ComputeOps.td - the compute ops --------------------------*- tablegen -*-===//
//
// One definition per op: operands, attributes, placement rule, docs. The op
// table of lib/Ops is generated from this file, so recording and the passes
// share it. See PlacementRule.h for the rule language.
//
//===----------------------------------------------------------------------===//
#ifndef DTORCH_COMPUTE_OPS
#define DTORCH_COMPUTE_OPS

include "dtorch/Dialect/IR/DtorchBase.td"
include "dtorch/Dialect/IR/DtorchInterfaces.td"

/// One value of a generic op's `kind`.
class OpKind<string kindName, string kindRule, string dtype = "same"> {
  string name = kindName;
  string rule = kindRule;
  string resultDType = dtype;
}

/// A pure op on tensors with one result, a placement rule and a kernel of the
/// same name.
class Dtorch_ComputeOp<string mnemonic, string rule = "", string dtype = "same">
    : Dtorch_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<ComputeOpInterface>]> {
  string placementRule = rule;   // text; or
  string ruleFunction = "";      // a function of lib/Ops; or
  list<OpKind> kinds = [];       // one text per value of `kind`
  string resultDType = dtype;
  // Element types that operands may have, one word each, the last for all that
  // follow: any, T (all of them equal), float, int, mask (bool or T), or the
  // names of dtypes, split by `|`.
  string operandDTypes = "any";
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return ::dtorch::verifyComputeOp(*this); }
    ::dtorch::OpCall $cppClass::getOpCall() { return ::dtorch::makeOpCall(*this); }
  }];
}

def Dtorch_UnaryOp : Dtorch_ComputeOp<"unary"> {
  let summary = "Elementwise function of one tensor";
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$kind);
  let kinds = [
    OpKind<"neg", "... -> ... ; partial: sum(0)">,
    OpKind<"abs", "... -> ...">,
    OpKind<"exp", "... -> ... ; partial: max(0) min(0)", "float">,
    OpKind<"log", "... -> ...", "float">,
    OpKind<"sqrt", "... -> ...", "float">,
    OpKind<"rsqrt", "... -> ...", "float">,
    OpKind<"square", "... -> ...">,
    OpKind<"reciprocal", "... -> ...", "float">,
    OpKind<"sin", "... -> ...", "float">,
    OpKind<"cos", "... -> ...", "float">,
    OpKind<"tanh", "... -> ... ; partial: max(0) min(0)", "float">,
    OpKind<"sigmoid", "... -> ... ; partial: max(0) min(0)", "float">,
    OpKind<"relu", "... -> ... ; partial: max(0) min(0)">,
    OpKind<"silu", "... -> ...", "float">,
    OpKind<"gelu", "... -> ...", "float">,
    OpKind<"floor", "... -> ... ; partial: max(0) min(0)">
  ];
}

def Dtorch_BinaryOp : Dtorch_ComputeOp<"binary"> {
  let summary = "Elementwise function of two tensors, broadcast";
  let operandDTypes = "T";
  let description = [{Both operands have one element type (recording casts first).
    A zero factor of a pending product times infinity on another device would be
    NaN; recording reduces first where a scalar says so.}];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, StrAttr:$kind);
  let kinds = [
    OpKind<"add", "..., ... -> ... ; partial: sum(0 1) max(0) max(1) min(0) min(1)">,
    OpKind<"sub", "..., ... -> ... ; partial: sum(0 1) max(0) min(0)">,
    OpKind<"mul", "..., ... -> ... ; partial: sum(0) sum(1)">,
    OpKind<"div", "..., ... -> ... ; partial: sum(0)", "float">,
    OpKind<"pow", "..., ... -> ...">,
    OpKind<"maximum", "..., ... -> ... ; partial: max(0 1) max(0) max(1) min(0) min(1)">,
    OpKind<"minimum", "..., ... -> ... ; partial: min(0 1) min(0) min(1) max(0) max(1)">,
    OpKind<"eq", "..., ... -> ...", "bool">,
    OpKind<"ne", "..., ... -> ...", "bool">,
    OpKind<"lt", "..., ... -> ...", "bool">,
    OpKind<"le", "..., ... -> ...", "bool">,
    OpKind<"gt", "..., ... -> ...", "bool">,
    OpKind<"ge", "..., ... -> ...", "bool">,
    OpKind<"logical_and", "..., ... -> ...", "bool">,
    OpKind<"logical_or", "..., ... -> ...", "bool">
  ];
}

def Dtorch_CastOp : Dtorch_ComputeOp<"cast", "", "attr"> {
  let summary = "Change of element type";
  let description = [{Widening casts between floating types pass a pending sum;
    narrowing and integer casts do not.}];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$dtype);
  let ruleFunction = "castRule";
}

def Dtorch_MatmulOp : Dtorch_ComputeOp<"matmul",
    "... m k, ... k n -> ... m n ; reduce: k=sum ; partial: sum(0) sum(1)"> {
  let summary = "Batched matrix product, batch dims broadcast";
  let operandDTypes = "T";
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
}

def Dtorch_LinearOp : Dtorch_ComputeOp<"linear",
    "... k, n k -> ... n ; reduce: k=sum ; partial: sum(0) sum(1)"> {
  let summary = "input @ weight.T; a bias is an add after it";
  let operandDTypes = "T";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$weight);
}

def Dtorch_EmbeddingOp : Dtorch_ComputeOp<"embedding",
    "v d, ... -> ... d ; reduce: v=sum ; offset: v ; partial: sum(0)"> {
  let summary = "Rows of weight [v, d] at integer indices";
  let operandDTypes = "any int";
  let description = [{An index outside [0, v) is an error when the op runs.}];
  let arguments = (ins AnyRankedTensor:$weight, AnyRankedTensor:$indices);
}

def Dtorch_SoftmaxOp : Dtorch_ComputeOp<"softmax", "... -> ... ; whole: [dim]"> {
  let summary = "Softmax over one dim, computed in fp32";
  let operandDTypes = "float";
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim);
}

def Dtorch_RMSNormOp : Dtorch_ComputeOp<"rms_norm", "..., -> ... ; whole: [dims]"> {
  let summary = "x / sqrt(mean(x*x over dims) + eps), computed in fp32";
  let operandDTypes = "float float32";
  let description = [{eps is a 0-dim float32 tensor. A weight is a mul after it.}];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$eps,
                   DenseI64ArrayAttr:$dims);
}

def Dtorch_SDPAOp : Dtorch_ComputeOp<"sdpa"> {
  let summary = "Scaled dot-product attention";
  let operandDTypes = "T T T float32 mask";
  let description = [{
    query [..., H, L, E], key [..., Hkv, S, E], value [..., Hkv, S, Ev], scale
    a 0-dim float32 tensor, and optionally a mask that broadcasts to
    [..., H, L, S] (bool: True takes part; floating: added). H is a multiple of
    Hkv; query head h uses K/V head h / (H / Hkv). `is_causal` is top-left
    aligned, by global positions. A fully masked row gives 0. fp32 inside.
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key,
                   AnyRankedTensor:$value, AnyRankedTensor:$scale,
                   Optional<AnyRankedTensor>:$mask, BoolAttr:$is_causal);
  let ruleFunction = "sdpaRule";
}

def Dtorch_ReduceOp : Dtorch_ComputeOp<"reduce"> {
  let summary = "Reduction over dims";
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$kind,
                   DenseI64ArrayAttr:$dims, BoolAttr:$keepdim);
  let kinds = [
    OpKind<"sum", "... -> ... ; reduce: [dims]=sum ; partial: sum(0)">,
    OpKind<"amax", "... -> ... ; reduce: [dims]=max ; partial: max(0)">,
    OpKind<"amin", "... -> ... ; reduce: [dims]=min ; partial: min(0)">
  ];
}

def Dtorch_ViewOp : Dtorch_ComputeOp<"view"> {
  let summary = "The same elements under another global shape (no -1)";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$shape);
  let ruleFunction = "viewRule";
}

def Dtorch_PermuteOp : Dtorch_ComputeOp<"permute"> {
  let summary = "Dims in another order";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$dims);
  let ruleFunction = "permuteRule";
}

def Dtorch_ExpandOp : Dtorch_ComputeOp<"expand"> {
  let summary = "Broadcast to a global shape (no -1), dims right-aligned";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$shape);
  let ruleFunction = "expandRule";
}

def Dtorch_SliceOp : Dtorch_ComputeOp<"slice"> {
  let summary = "Elements start, start+step, … below stop, per dim";
  let description = [{0 <= start <= stop <= n and step >= 1. Dims taken in full
    keep their placement; others are whole.}];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$starts,
                   DenseI64ArrayAttr:$stops, DenseI64ArrayAttr:$steps);
  let ruleFunction = "sliceRule";
}

def Dtorch_CatOp : Dtorch_ComputeOp<"cat"> {
  let summary = "Concatenation along one dim, which is whole";
  let operandDTypes = "T";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$dim);
  let ruleFunction = "catRule";
}

def Dtorch_ArangeOp : Dtorch_ComputeOp<"arange", "", "attr"> {
  let summary = "start + i * step for i in [0, size)";
  let operandDTypes = "int64|float64";
  let description = [{start and step are 0-dim tensors, int64 or float64.}];
  let arguments = (ins AnyRankedTensor:$start, AnyRankedTensor:$step,
                   I64Attr:$size, StrAttr:$dtype);
  let ruleFunction = "factoryRule";
}

def Dtorch_FullOp : Dtorch_ComputeOp<"full", "", "attr"> {
  let summary = "A tensor filled with a 0-dim tensor's value";
  let arguments = (ins AnyRankedTensor:$value, DenseI64ArrayAttr:$shape,
                   StrAttr:$dtype);
  let ruleFunction = "factoryRule";
}

def Dtorch_RandomOp : Dtorch_ComputeOp<"random", "", "attr"> {
  let summary = "Counter-based random numbers keyed by global element index";
  let operandDTypes = "int64";
  let description = [{
    Philox4x32-10 with key = seed and counter = (global element index / 4 as a
    64-bit number, offset), word index % 4; `kind` is "normal" (Box-Muller over
    words 0,1 and 2,3) or "uniform" ([0, 1)). seed and offset are 0-dim int64
    tensors. The same seed gives the same tensor on every mesh.
    Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011.
  }];
  let arguments = (ins AnyRankedTensor:$seed, AnyRankedTensor:$offset,
                   StrAttr:$kind, DenseI64ArrayAttr:$shape, StrAttr:$dtype);
  let ruleFunction = "factoryRule";
}

#endif // DTORCH_COMPUTE_OPS
