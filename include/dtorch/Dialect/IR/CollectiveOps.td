//===- CollectiveOps.td - changes of placement ----------------*- tablegen -*-===//
//
// `redistribute` says what is wanted; the step ops say how it is done. Both
// work on global types (the placed phase) and on local types. The grids show
// what each device of one group holds before and after.
//
//===----------------------------------------------------------------------===//
#ifndef DTORCH_COLLECTIVE_OPS
#define DTORCH_COLLECTIVE_OPS

include "dtorch/Dialect/IR/DtorchBase.td"
include "dtorch/Dialect/IR/DtorchInterfaces.td"

def Dtorch_RedistributeOp : Dtorch_Op<"redistribute", [Pure]> {
  let summary = "The same global value under another sharding";
  let description = [{
    From host to mesh, from mesh to host, or between shardings of one mesh.

    Constraints: operand and result have the same shape and element type; the
    result has a sharding; the types are not local ones.

    ```mlir
    %1 = dtorch.redistribute %0 : tensor<4x8xf32, #S0_on_dp> -> tensor<4x8xf32, #replicated>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

/// A step of a redistribute on one mesh.
class Dtorch_StepOp<string mnemonic, string step>
    : Dtorch_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<StepOpInterface>]> {
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$axes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat =
      "$input `over` $axes attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::dtorch::StepKind $cppClass::getStepKind() { return ::dtorch::StepKind::}] # step # [{; }
    ::llvm::LogicalResult $cppClass::verify() { return ::dtorch::verifyStepOp(*this); }
  }];
  /// What all steps ask; each op's list adds its own.
  string common = [{
    Constraints: operand and result have the same global shape, element type and
    mesh, and differ on `axes` only (indices in mesh order); }];
}

def Dtorch_AllReduceOp : Dtorch_StepOp<"all_reduce", "AllReduce"> {
  let summary = "P -> R: every device gets the reduction over its group";
  let description = [{
                device 0   device 1              device 0   device 1
        before    1 2       10 20        after    11 22      11 22

  }] # common # [{the axes are `P`, then `R`.

    ```mlir
    %1 = dtorch.all_reduce %0 over [0, 1] : tensor<2xf32, #P_on_dp_P_on_tp> -> tensor<2xf32, #replicated>
    ```
  }];
}

def Dtorch_AllGatherOp : Dtorch_StepOp<"all_gather", "AllGather"> {
  let summary = "S(d) -> R: every device gets the shards of its group, joined";
  let description = [{
                device 0   device 1              device 0   device 1
        before    1 2        3           after    1 2 3      1 2 3

  }] # common # [{the axes are the innermost shards of their dim, then `R`.

    ```mlir
    %1 = dtorch.all_gather %0 over [0] : tensor<3xf32, #S0_on_dp> -> tensor<3xf32, #replicated>
    ```
  }];
}

def Dtorch_ReduceScatterOp : Dtorch_StepOp<"reduce_scatter", "ReduceScatter"> {
  let summary = "P -> S(d): every device gets its shard of the reduction";
  let description = [{
                device 0   device 1              device 0   device 1
        before    1 2 3    10 20 30      after    11 22       33

  }] # common # [{the axes are `P`, then `S(d)`; no later axis outside them
    shards d.

    ```mlir
    %1 = dtorch.reduce_scatter %0 over [0] : tensor<3xf32, #P_on_dp> -> tensor<3xf32, #S0_on_dp>
    ```
  }];
}

def Dtorch_AllToAllOp : Dtorch_StepOp<"all_to_all", "AllToAll"> {
  let summary = "S(a) -> S(b): shards of one dim become shards of another";
  let description = [{
                device 0   device 1              device 0   device 1
        before    1 2        5 6         after      1          2
                  3 4                               3          4
                                                    5          6

  }] # common # [{one axis, the innermost that shards a; no later axis shards b.

    ```mlir
    %1 = dtorch.all_to_all %0 over [0] : tensor<3x2xf32, #S0_on_dp> -> tensor<3x2xf32, #S1_on_dp>
    ```
  }];
}

def Dtorch_ExchangeOp : Dtorch_StepOp<"exchange", "Exchange"> {
  let summary = "S, R -> S, R: every device gets its new box from the owners";
  let description = [{
                device 0   device 1   device 2   device 3     (2 x 2 devices)
        before    1 2        1 2        3 4        3 4        [S(0), R]
        after     1          3          2          4          [S(0), S(0)] transposed

    Pieces come from the nearest owner; what a device holds already it keeps.

  }] # common # [{the axes are `S` or `R` before and after.

    ```mlir
    %1 = dtorch.exchange %0 over [0, 1] : tensor<4xf32, #S0_on_dp> -> tensor<4xf32, #S0_on_tp>
    ```
  }];
}

def Dtorch_LocalSliceOp : Dtorch_StepOp<"local_slice", "Slice"> {
  let summary = "R -> S(d): every device keeps its shard; no communication";
  let description = [{
                device 0   device 1              device 0   device 1
        before    1 2 3      1 2 3       after    1 2         3

  }] # common # [{the axes are `R`, then `S(d)`; no later axis outside them
    shards d.

    ```mlir
    %1 = dtorch.local_slice %0 over [0] : tensor<3xf32, #replicated> -> tensor<3xf32, #S0_on_dp>
    ```
  }];
}

def Dtorch_LocalMaskOp : Dtorch_StepOp<"local_mask", "Mask"> {
  let summary = "R -> P: the first device keeps the value, others hold zeros";
  let description = [{
                device 0   device 1              device 0   device 1
        before    1 2        1 2         after    1 2        0 0

  }] # common # [{the axes are `R`, then `P`.

    ```mlir
    %1 = dtorch.local_mask %0 over [0] : tensor<2xf32, #replicated> -> tensor<2xf32, #P_on_dp>
    ```
  }];
}

def Dtorch_FromHostOp : Dtorch_Op<"from_host", [Pure]> {
  let summary = "Host -> mesh: each device takes its box of a host tensor";
  let description = [{
    Local, since every process has the whole value. On a pending axis the
    device at coordinate 0 holds the value and the others hold zeros.

                host                             device 0   device 1
        before  1 2 3                    after    1 2         3

    Constraints: same global shape and element type; the operand is on the
    host, the result is not.

    ```mlir
    %1 = dtorch.from_host %0 : tensor<3xf32, #host> -> tensor<3xf32, #S0_on_dp>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Dtorch_ToHostOp : Dtorch_Op<"to_host", [Pure]> {
  let summary = "Mesh -> host: the one gather of a value";
  let description = [{
                device 0   device 1              host
        before    1 2        3           after   1 2 3

    Constraints: same global shape and element type; the result is on the host,
    the operand is not; no axis of the operand is pending (reduce it first).

    ```mlir
    %1 = dtorch.to_host %0 : tensor<3xf32, #S0_on_dp> -> tensor<3xf32, #host>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif // DTORCH_COLLECTIVE_OPS
