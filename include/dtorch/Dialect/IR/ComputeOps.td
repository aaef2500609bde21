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
    OpKind<"floor", "... -> ... ; partial: max(0) min(0)">,
    OpKind<"ceil", "... -> ... ; partial: max(0) min(0)">,
    OpKind<"round", "... -> ... ; partial: max(0) min(0)">,
    OpKind<"trunc", "... -> ... ; partial: max(0) min(0)">,
    OpKind<"sign", "... -> ...">,
    OpKind<"log2", "... -> ...", "float">,
    OpKind<"log10", "... -> ...", "float">,
    OpKind<"log1p", "... -> ...", "float">,
    OpKind<"expm1", "... -> ... ; partial: max(0) min(0)", "float">,
    OpKind<"asin", "... -> ...", "float">,
    OpKind<"erf", "... -> ... ; partial: max(0) min(0)", "float">,
    OpKind<"isnan", "... -> ...", "bool">,
    OpKind<"isinf", "... -> ...", "bool">,
    OpKind<"logical_not", "... -> ...", "bool">
  ];
}

def Dtorch_BinaryOp : Dtorch_ComputeOp<"binary"> {
  let summary = "Elementwise function of two tensors, broadcast";
  let operandDTypes = "T";
  let description = [{Both operands have one element type (recording casts first).
    A zero factor of a pending product times infinity on another device would be
    NaN; recording reduces first where a scalar says so. `floor_divide` rounds
    down and `remainder` has the divisor's sign, `fmod` the dividend's; an integer
    divided by zero is an error when the op runs. `bitwise_*` take bools and
    integers.}];
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
    OpKind<"logical_or", "..., ... -> ...", "bool">,
    OpKind<"logical_xor", "..., ... -> ...", "bool">,
    OpKind<"floor_divide", "..., ... -> ...">,
    OpKind<"remainder", "..., ... -> ...">,
    OpKind<"fmod", "..., ... -> ...">,
    OpKind<"bitwise_and", "..., ... -> ...">,
    OpKind<"bitwise_or", "..., ... -> ...">,
    OpKind<"bitwise_xor", "..., ... -> ...">
  ];
}

def Dtorch_WhereOp : Dtorch_ComputeOp<"where",
    "..., ..., ... -> ... ; partial: sum(1 2) max(1 2) max(1) max(2) min(1 2) min(1) min(2)",
    "last"> {
  let summary = "Elements of `input` where the condition holds, else of `other`";
  let operandDTypes = "bool T T";
  let arguments = (ins AnyRankedTensor:$condition, AnyRankedTensor:$input,
                   AnyRankedTensor:$other);
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

def Dtorch_LogSoftmaxOp : Dtorch_ComputeOp<"log_softmax", "... -> ... ; whole: [dim]"> {
  let summary = "Logarithm of softmax over one dim, computed in fp32";
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

def Dtorch_LayerNormOp : Dtorch_ComputeOp<"layer_norm", "..., -> ... ; whole: [dims]"> {
  let summary = "(x - mean) / sqrt(variance + eps) over dims, computed in fp32";
  let operandDTypes = "float float32";
  let description = [{eps is a 0-dim float32 tensor, the variance the biased one.
    A weight is a mul after it, a bias an add.}];
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
    OpKind<"amin", "... -> ... ; reduce: [dims]=min ; partial: min(0)">,
    OpKind<"prod", "... -> ... ; reduce: [dims]=none">,
    OpKind<"any", "... -> ... ; reduce: [dims]=max", "bool">,
    OpKind<"all", "... -> ... ; reduce: [dims]=min", "bool">
  ];
}

def Dtorch_ArgReduceOp : Dtorch_ComputeOp<"arg_reduce"> {
  let summary = "Index of the extremum along one dim, which the result lacks";
  let description = [{The first index among equals; a NaN counts as the extremum.}];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$kind, I64Attr:$dim);
  let kinds = [
    OpKind<"argmax", "... -> ... ; reduce: [dim]=none", "int64">,
    OpKind<"argmin", "... -> ... ; reduce: [dim]=none", "int64">
  ];
}

def Dtorch_CumsumOp : Dtorch_ComputeOp<"cumsum",
    "... -> ... ; whole: [dim] ; partial: sum(0)"> {
  let summary = "Running sums along one dim";
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim);
}

def Dtorch_SortIndicesOp : Dtorch_ComputeOp<"sort_indices", "... -> ... ; whole: [dim]",
    "int64"> {
  let summary = "Indices that sort each line along one dim";
  let description = [{Equal elements keep their order. NaN is larger than all.}];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, BoolAttr:$descending);
}

def Dtorch_GatherOp : Dtorch_ComputeOp<"gather"> {
  let summary = "Elements of each line along `dim` at the indices of that line";
  let description = [{
    result[i, j] = input[index[i, j], j] for dim 0. Other dims of the index are at
    most as long as the input's. Indices lie in [-n, n); others are an error when
    the op runs. A shard of `dim` gives zeros for elements that it does not hold.
  }];
  let operandDTypes = "any int";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$index, I64Attr:$dim);
  let ruleFunction = "gatherRule";
}

def Dtorch_IndexSelectOp : Dtorch_ComputeOp<"index_select"> {
  let summary = "Slices of the input at the indices of a 1-D tensor";
  let description = [{Indices lie in [-n, n); others are an error when the op runs.
    A shard of `dim` gives zeros for slices that it does not hold.}];
  let operandDTypes = "any int";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$index, I64Attr:$dim);
  let ruleFunction = "indexSelectRule";
}

def Dtorch_ScatterOp : Dtorch_ComputeOp<"scatter"> {
  let summary = "The input with elements of `src` put or added at indices along `dim`";
  let description = [{
    The inverse of gather: result[index[i, j], j] = src[i, j] for dim 0, where
    src has the index's shape. `reduce` is "none" (of several writes the last
    counts), "add" or "multiply". Indices lie in [-n, n); others are an error
    when the op runs.
  }];
  let operandDTypes = "T int T";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$index,
                   AnyRankedTensor:$src, I64Attr:$dim, StrAttr:$reduce);
  let ruleFunction = "scatterRule";
}

def Dtorch_SliceUpdateOp : Dtorch_ComputeOp<"slice_update"> {
  let summary = "The input with a slice replaced by `value`";
  let description = [{Bounds as those of slice, whose shape `value` has.}];
  let operandDTypes = "T";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$value,
                   DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$stops,
                   DenseI64ArrayAttr:$steps);
  let ruleFunction = "sliceUpdateRule";
}

def Dtorch_TrilTriuOp : Dtorch_ComputeOp<"tril_triu"> {
  let summary = "Matrices with the elements above or below a diagonal zeroed";
  let description = [{Keeps column - row <= diagonal (tril) or >= (triu), by global
    positions.}];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$kind, I64Attr:$diagonal);
  let kinds = [
    OpKind<"tril", "... m n -> ... m n ; partial: sum(0) max(0) min(0)">,
    OpKind<"triu", "... m n -> ... m n ; partial: sum(0) max(0) min(0)">
  ];
}

def Dtorch_PadOp : Dtorch_ComputeOp<"pad"> {
  let summary = "The input with elements of one value added around it";
  let description = [{value is a 0-dim tensor; before and after count per dim.
    Dims that grow are whole.}];
  let operandDTypes = "T";
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$value,
                   DenseI64ArrayAttr:$before, DenseI64ArrayAttr:$after);
  let ruleFunction = "padRule";
}

def Dtorch_FlipOp : Dtorch_ComputeOp<"flip",
    "... -> ... ; whole: [dims] ; partial: sum(0) max(0) min(0)"> {
  let summary = "Dims in reversed order of elements";
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$dims);
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

def Dtorch_RandintOp : Dtorch_ComputeOp<"randint", "", "attr"> {
  let summary = "Random integers in [low, high), keyed by global element index";
  let operandDTypes = "int64";
  let description = [{
    Element i takes the words 2 * (i % 2) and the next one of the counter
    (i / 2, offset) as a 64-bit number x, and is low + floor(x (high - low) / 2^64).
    All operands are 0-dim int64 tensors. See random.
  }];
  let arguments = (ins AnyRankedTensor:$seed, AnyRankedTensor:$offset,
                   AnyRankedTensor:$low, AnyRankedTensor:$high,
                   DenseI64ArrayAttr:$shape, StrAttr:$dtype);
  let ruleFunction = "factoryRule";
}

#endif // DTORCH_COMPUTE_OPS
