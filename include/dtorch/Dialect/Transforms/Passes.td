//===- Passes.td - the passes, in the order of the phases -----*- tablegen -*-===//
#ifndef DTORCH_PASSES
#define DTORCH_PASSES

include "mlir/Pass/PassBase.td"

/// A pass over a whole module: functions are visited by demand of their calls.
class Dtorch_Pass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::dtorch::DtorchDialect", "::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"opsVisited", "ops-visited", "Ops worked on, calls not counted">
  ];
}

//===----------------------------------------------------------------------===//
// placed
//===----------------------------------------------------------------------===//

def InferPlacements : Dtorch_Pass<"dtorch-infer-placements"> {
  let summary = "Give every tensor a sharding";
  let description = [{
    Requires: arguments of public functions that are not host tensors, and
      results of redistributes, have a sharding.
    Establishes: every tensor type has a sharding in normal form, on the mesh of
      the op's operands; host tensors join a mesh as replicated. Where operands
      match no row of an op's rule, the result is that of the row that is
      cheapest to reach.
    Before:
    ```mlir
    func.func @main(%x: tensor<4x8xf32, #S0_on_dp>, %w: tensor<6x8xf32, #S0_on_tp>) -> tensor<4x6xf32> {
      %0 = dtorch.linear %x, %w : (tensor<4x8xf32, #S0_on_dp>, tensor<6x8xf32, #S0_on_tp>) -> tensor<4x6xf32>
      return %0 : tensor<4x6xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<4x8xf32, #S0_on_dp>, %w: tensor<6x8xf32, #S0_on_tp>) -> tensor<4x6xf32, #S0_on_dp_S1_on_tp> {
      %0 = dtorch.linear %x, %w : (tensor<4x8xf32, #S0_on_dp>, tensor<6x8xf32, #S0_on_tp>) -> tensor<4x6xf32, #S0_on_dp_S1_on_tp>
      return %0 : tensor<4x6xf32, #S0_on_dp_S1_on_tp>
    }
    ```
    Private functions are inferred once per signature of their calls; a second
    signature makes a copy with a suffix. Those that nobody calls are erased.
    Leaves alone: the ops and their order; no redistribute is inserted.
  }];
}

def InsertRedistributes : Dtorch_Pass<"dtorch-insert-redistributes"> {
  let summary = "Make operands match a row of their op's rule";
  let description = [{
    Requires: every tensor has a sharding (dtorch-infer-placements).
    Establishes: the operands and results of every op match one row of its
      placement rule on every mesh axis; the module's phase is "placed".
    Before:
    ```mlir
    %0 = dtorch.softmax %x {dim = 1 : i64} : (tensor<8x4xf32, #S1_on_tp>) -> tensor<8x4xf32, #S0_on_tp>
    ```
    After:
    ```mlir
    %0 = dtorch.redistribute %x : tensor<8x4xf32, #S1_on_tp> -> tensor<8x4xf32, #S0_on_tp>
    %1 = dtorch.softmax %0 {dim = 1 : i64} : (tensor<8x4xf32, #S0_on_tp>) -> tensor<8x4xf32, #S0_on_tp>
    ```
    The change is the cheapest one (bytes at the busiest device, collectives,
    operands changed, row). A remark tells each one that communicates; under
    `dtorch.strict` it is an error instead. A value is changed to one sharding
    once per function.
    Leaves alone: ops that match already.
  }];
}

def VerifyPlacements : Dtorch_Pass<"dtorch-verify-placements"> {
  let summary = "Check the placed phase";
  let description = [{
    Requires: the placed phase (dtorch-insert-redistributes).
    Establishes: nothing new; fails unless every tensor has a sharding in normal
      form, every compute op is on one mesh and matches its rule, and functions
      hold only compute ops, redistributes, calls and returns.
    Before and after:
    ```mlir
    %0 = dtorch.unary %x {kind = "exp"} : (tensor<8x4xf32, #S1_on_tp>) -> tensor<8x4xf32, #S1_on_tp>
    ```
    Leaves alone: everything.
  }];
}

//===----------------------------------------------------------------------===//
// local
//===----------------------------------------------------------------------===//

def LowerRedistributes : Dtorch_Pass<"dtorch-lower-redistributes"> {
  let summary = "Turn redistributes into collectives";
  let description = [{
    Requires: the placed phase (dtorch-verify-placements).
    Establishes: no redistributes; each became the steps of its cheapest plan, a
      from_host or a to_host. Those between equal layouts are gone.
    Before:
    ```mlir
    %0 = dtorch.redistribute %x : tensor<8x4xf32, #P_on_dp_P_on_tp> -> tensor<8x4xf32, #replicated>
    ```
    After:
    ```mlir
    %0 = dtorch.all_reduce %x over [0, 1] : tensor<8x4xf32, #P_on_dp_P_on_tp> -> tensor<8x4xf32, #replicated>
    ```
    Before to_host, pending axes are reduced as is cheapest.
    Leaves alone: every other op.
  }];
}

def ConvertGlobalToLocal : Dtorch_Pass<"dtorch-convert-global-to-local"> {
  let summary = "Give tensors the types of one device's part";
  let description = [{
    Requires: no redistributes (dtorch-lower-redistributes).
    Establishes: every tensor type is that of one device's part, with `?` where
      devices differ; the module's phase is "local".
    Before:
    ```mlir
    %0 = dtorch.unary %x {kind = "exp"} : (tensor<3x8xf32, #S0_on_dp>) -> tensor<3x8xf32, #S0_on_dp>
    ```
    After:
    ```mlir
    %0 = dtorch.unary %x {kind = "exp"} : (tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>) -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>
    ```
    Leaves alone: the ops and their order.
  }];
}

def VerifyLocal : Dtorch_Pass<"dtorch-verify-local"> {
  let summary = "Check the local phase";
  let description = [{
    Requires: the local phase (dtorch-convert-global-to-local).
    Establishes: nothing new; fails unless every tensor is local, every compute
      op matches its rule, and no redistribute is left.
    Before and after:
    ```mlir
    %0 = dtorch.unary %x {kind = "exp"} : (tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>) -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>
    ```
    Leaves alone: everything.
  }];
}

//===----------------------------------------------------------------------===//
// program
//===----------------------------------------------------------------------===//

def PlanBuffers : Dtorch_Pass<"dtorch-plan-buffers"> {
  let summary = "Place every value in memory";
  let description = [{
    Requires: the local phase (dtorch-verify-local).
    Establishes: each op with results has `dtorch.memory`, one place per result;
      calls have `dtorch.arena`, where the callee's arena lies in ours; functions
      have `dtorch.arena_bytes`.
    Before:
    ```mlir
    %0 = dtorch.unary %x {kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
    %1 = dtorch.unary %0 {kind = "exp"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
    return %1 : tensor<4xf32, #L>
    ```
    After:
    ```mlir
    %0 = dtorch.unary %x {dtorch.memory = [#dtorch.memory<arena 0>], kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
    %1 = dtorch.unary %0 {dtorch.memory = [#dtorch.memory<result 0>], kind = "exp"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
    return %1 : tensor<4xf32, #L>
    ```
    Values that live at one time do not overlap; others share bytes, largest
    first, each in the smallest gap that holds it. A value that is returned is
    written where the caller wants it. A view shares its operand's memory. Sizes
    are those of the largest part over all devices, multiples of 64 bytes.
    Leaves alone: the ops and their order.
  }];
}

def ConvertToProgram : Dtorch_Pass<"dtorch-convert-to-program"> {
  let summary = "Turn functions on tensors into programs over buffers";
  let description = [{
    Requires: a memory plan (dtorch-plan-buffers).
    Establishes: every function is a `dtorch.program_func`, callees first; the
      module's phase is "program".
    Before:
    ```mlir
    func.func @main(%x: tensor<4xf32, #L> {dtorch.name = "x"}) -> (tensor<4xf32, #L> {dtorch.name = "y"}) attributes {dtorch.arena_bytes = 64 : i64} {
      %0 = dtorch.unary %x {dtorch.memory = [#dtorch.memory<arena 0>], kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
      %1 = dtorch.unary %0 {dtorch.memory = [#dtorch.memory<result 0>], kind = "exp"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
      return %1 : tensor<4xf32, #L>
    }
    ```
    After:
    ```mlir
    dtorch.program_func @main arena 64 {
      %arg0 = dtorch.buffer argument 0 "x" : !dtorch.buffer<4xf32, #replicated>
      %result0 = dtorch.buffer result 0 "y" : !dtorch.buffer<4xf32, #replicated>
      %0 = dtorch.buffer arena 0 : !dtorch.buffer<4xf32, #replicated>
      dtorch.launch "unary" (%arg0) -> (%0) {kind = "neg"}
      dtorch.launch "unary" (%0) -> (%result0) {kind = "exp"}
    }
    ```
    An argument that is returned, or a value that is returned twice, is copied.
    Leaves alone: attributes of the module.
  }];
}

#endif // DTORCH_PASSES
