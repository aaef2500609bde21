// RUN: dtorch-opt %s | FileCheck %s --check-prefix=GLOBAL
// RUN: dtorch-opt %s -dtorch-to-placed 2>/dev/null | FileCheck %s --check-prefix=PLACED
// RUN: dtorch-opt %s -dtorch-to-local 2>/dev/null | FileCheck %s --check-prefix=LOCAL
// RUN: dtorch-opt %s -dtorch-to-program 2>/dev/null | FileCheck %s --check-prefix=PROGRAM
//
// Pass by pass is the same as the pipeline, and so is the text between them.
// RUN: dtorch-opt %s -dtorch-infer-placements | dtorch-opt -dtorch-insert-redistributes \
// RUN:   | dtorch-opt -dtorch-verify-placements | dtorch-opt -dtorch-lower-redistributes \
// RUN:   | dtorch-opt -dtorch-convert-global-to-local | dtorch-opt -dtorch-verify-local \
// RUN:   | dtorch-opt -dtorch-plan-buffers | dtorch-opt -dtorch-convert-to-program > %t.steps
// RUN: dtorch-opt %s -dtorch-to-program > %t.pipeline
// RUN: diff %t.steps %t.pipeline
//
// A two-layer MLP, its layer a private function called twice. The batch of 3 is
// sharded over dp = 2, the 5 hidden units over tp = 2: column-parallel, then
// row-parallel. docs/architecture.md walks through it.

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#batch = #dtorch.sharding<#mesh, [S(0), R]>
#column = #dtorch.sharding<#mesh, [R, S(0)]>
#row = #dtorch.sharding<#mesh, [R, S(1)]>

module attributes {dtorch.phase = "global"} {
  func.func private @layer(%x: tensor<3x8xf32>, %w1: tensor<5x8xf32, #column>, %w2: tensor<8x5xf32, #row>) -> tensor<3x8xf32, #batch> {
    %0 = dtorch.linear %x, %w1 : (tensor<3x8xf32>, tensor<5x8xf32, #column>) -> tensor<3x5xf32>
    %1 = dtorch.unary %0 {kind = "relu"} : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %2 = dtorch.linear %1, %w2 : (tensor<3x5xf32>, tensor<8x5xf32, #row>) -> tensor<3x8xf32>
    %3 = dtorch.redistribute %2 : tensor<3x8xf32> -> tensor<3x8xf32, #batch>
    return %3 : tensor<3x8xf32, #batch>
  }
  func.func @main(%x: tensor<3x8xf32, #host> {dtorch.name = "x"},
                  %w1: tensor<5x8xf32, #column> {dtorch.name = "0.up.weight", dtorch.parameter},
                  %w2: tensor<8x5xf32, #row> {dtorch.name = "0.down.weight", dtorch.parameter},
                  %w3: tensor<5x8xf32, #column> {dtorch.name = "1.up.weight", dtorch.parameter},
                  %w4: tensor<8x5xf32, #row> {dtorch.name = "1.down.weight", dtorch.parameter})
      -> (tensor<3x8xf32, #host> {dtorch.name = "y"}) {
    %0 = dtorch.redistribute %x : tensor<3x8xf32, #host> -> tensor<3x8xf32, #batch>
    %1 = builtin.unrealized_conversion_cast %0 : tensor<3x8xf32, #batch> to tensor<3x8xf32>
    %2 = func.call @layer(%1, %w1, %w2) {dtorch.module = "0"} : (tensor<3x8xf32>, tensor<5x8xf32, #column>, tensor<8x5xf32, #row>) -> tensor<3x8xf32, #batch>
    %3 = builtin.unrealized_conversion_cast %2 : tensor<3x8xf32, #batch> to tensor<3x8xf32>
    %4 = func.call @layer(%3, %w3, %w4) {dtorch.module = "1"} : (tensor<3x8xf32>, tensor<5x8xf32, #column>, tensor<8x5xf32, #row>) -> tensor<3x8xf32, #batch>
    %5 = dtorch.redistribute %4 : tensor<3x8xf32, #batch> -> tensor<3x8xf32, #host>
    return %5 : tensor<3x8xf32, #host>
  }
}

// GLOBAL-LABEL: func private @layer(%arg0: tensor<3x8xf32>, %arg1: tensor<5x8xf32, #S0_on_tp>, %arg2: tensor<8x5xf32, #S1_on_tp>) -> tensor<3x8xf32, #S0_on_dp> {
// GLOBAL-NEXT: %0 = dtorch.linear %arg0, %arg1 : (tensor<3x8xf32>, tensor<5x8xf32, #S0_on_tp>) -> tensor<3x5xf32>
// GLOBAL-NEXT: %1 = dtorch.unary %0 {kind = "relu"} : (tensor<3x5xf32>) -> tensor<3x5xf32>
// GLOBAL-NEXT: %2 = dtorch.linear %1, %arg2 : (tensor<3x5xf32>, tensor<8x5xf32, #S1_on_tp>) -> tensor<3x8xf32>
// GLOBAL-NEXT: %3 = dtorch.redistribute %2 : tensor<3x8xf32> -> tensor<3x8xf32, #S0_on_dp>
// GLOBAL-NEXT: return %3 : tensor<3x8xf32, #S0_on_dp>

// PLACED: module attributes {dtorch.phase = "placed"} {
// PLACED-NEXT: func.func private @layer(%arg0: tensor<3x8xf32, #S0_on_dp>, %arg1: tensor<5x8xf32, #S0_on_tp>, %arg2: tensor<8x5xf32, #S1_on_tp>) -> tensor<3x8xf32, #S0_on_dp> {
// PLACED-NEXT: %0 = dtorch.linear %arg0, %arg1 : (tensor<3x8xf32, #S0_on_dp>, tensor<5x8xf32, #S0_on_tp>) -> tensor<3x5xf32, #S0_on_dp_S1_on_tp>
// PLACED-NEXT: %1 = dtorch.unary %0 {kind = "relu"} : (tensor<3x5xf32, #S0_on_dp_S1_on_tp>) -> tensor<3x5xf32, #S0_on_dp_S1_on_tp>
// PLACED-NEXT: %2 = dtorch.linear %1, %arg2 : (tensor<3x5xf32, #S0_on_dp_S1_on_tp>, tensor<8x5xf32, #S1_on_tp>) -> tensor<3x8xf32, #S0_on_dp_P_on_tp>
// PLACED-NEXT: %3 = dtorch.redistribute %2 : tensor<3x8xf32, #S0_on_dp_P_on_tp> -> tensor<3x8xf32, #S0_on_dp>
// PLACED-NEXT: return %3 : tensor<3x8xf32, #S0_on_dp>
// PLACED-NOT: @layer_1
// PLACED-LABEL: func @main
// PLACED-NEXT: %0 = dtorch.redistribute %arg0 : tensor<3x8xf32, #host> -> tensor<3x8xf32, #S0_on_dp>
// PLACED-NEXT: %1 = call @layer(%0, %arg1, %arg2) {dtorch.module = "0"} : (tensor<3x8xf32, #S0_on_dp>, tensor<5x8xf32, #S0_on_tp>, tensor<8x5xf32, #S1_on_tp>) -> tensor<3x8xf32, #S0_on_dp>
// PLACED-NEXT: %2 = call @layer(%1, %arg3, %arg4) {dtorch.module = "1"}
// PLACED-NEXT: %3 = dtorch.redistribute %2 : tensor<3x8xf32, #S0_on_dp> -> tensor<3x8xf32, #host>
// PLACED-NEXT: return %3

// LOCAL: module attributes {dtorch.phase = "local"} {
// LOCAL-NEXT: func.func private @layer(%arg0: tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>, %arg1: tensor<?x8xf32, #dtorch.local<[5, 8], #S0_on_tp>>, %arg2: tensor<8x?xf32, #dtorch.local<[8, 5], #S1_on_tp>>) -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>> {
// LOCAL-NEXT: %0 = dtorch.linear %arg0, %arg1 : {{.*}} -> tensor<?x?xf32, #dtorch.local<[3, 5], #S0_on_dp_S1_on_tp>>
// LOCAL-NEXT: %1 = dtorch.unary %0 {kind = "relu"} : {{.*}} -> tensor<?x?xf32, #dtorch.local<[3, 5], #S0_on_dp_S1_on_tp>>
// LOCAL-NEXT: %2 = dtorch.linear %1, %arg2 : {{.*}} -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp_P_on_tp>>
// LOCAL-NEXT: %3 = dtorch.all_reduce %2 over [1] : tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp_P_on_tp>> -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>
// LOCAL-NEXT: return %3
// LOCAL-LABEL: func @main
// LOCAL-NEXT: %0 = dtorch.from_host %arg0 : tensor<3x8xf32, #dtorch.local<[3, 8], #host>> -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>
// LOCAL-NEXT: %1 = call @layer(%0, %arg1, %arg2) {dtorch.module = "0"}
// LOCAL-NEXT: %2 = call @layer(%1, %arg3, %arg4) {dtorch.module = "1"}
// LOCAL-NEXT: %3 = dtorch.to_host %2 : tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>> -> tensor<3x8xf32, #dtorch.local<[3, 8], #host>>
// LOCAL-NEXT: return %3

// PROGRAM: module attributes {dtorch.phase = "program"} {
// PROGRAM-NEXT: dtorch.program_func private @layer arena 128 {
// PROGRAM-NEXT: %arg0 = dtorch.buffer argument 0 : !dtorch.buffer<3x8xf32, #S0_on_dp>
// PROGRAM-NEXT: %arg1 = dtorch.buffer argument 1 : !dtorch.buffer<5x8xf32, #S0_on_tp>
// PROGRAM-NEXT: %arg2 = dtorch.buffer argument 2 : !dtorch.buffer<8x5xf32, #S1_on_tp>
// PROGRAM-NEXT: %result0 = dtorch.buffer result 0 : !dtorch.buffer<3x8xf32, #S0_on_dp>
// PROGRAM-NEXT: %0 = dtorch.buffer arena 0 : !dtorch.buffer<3x5xf32, #S0_on_dp_S1_on_tp>
// PROGRAM-NEXT: %1 = dtorch.buffer arena 64 : !dtorch.buffer<3x5xf32, #S0_on_dp_S1_on_tp>
// PROGRAM-NEXT: %2 = dtorch.buffer arena 0 : !dtorch.buffer<3x8xf32, #S0_on_dp_P_on_tp>
// PROGRAM-NEXT: dtorch.launch "linear" (%arg0, %arg1) -> (%0) {}
// PROGRAM-NEXT: dtorch.launch "unary" (%0) -> (%1) {kind = "relu"}
// PROGRAM-NEXT: dtorch.launch "linear" (%1, %arg2) -> (%2) {}
// PROGRAM-NEXT: dtorch.communicate "all_reduce" (%2) -> (%result0) over [1]
// PROGRAM-NEXT: }
// PROGRAM-NEXT: dtorch.program_func @main arena 256 {
// PROGRAM-NEXT: %arg0 = dtorch.buffer argument 0 "x" : !dtorch.buffer<3x8xf32, #host>
// PROGRAM-NEXT: %arg1 = dtorch.buffer argument 1 "0.up.weight" parameter : !dtorch.buffer<5x8xf32, #S0_on_tp>
// PROGRAM: %result0 = dtorch.buffer result 0 "y" : !dtorch.buffer<3x8xf32, #host>
// PROGRAM-NEXT: %[[X:.*]] = dtorch.buffer arena [[A:[0-9]+]] : !dtorch.buffer<3x8xf32, #S0_on_dp>
// PROGRAM-NEXT: %[[Y:.*]] = dtorch.buffer arena {{[0-9]+}} : !dtorch.buffer<3x8xf32, #S0_on_dp>
// PROGRAM-NEXT: %[[Z:.*]] = dtorch.buffer arena [[A]] : !dtorch.buffer<3x8xf32, #S0_on_dp>
// PROGRAM-NEXT: dtorch.communicate "from_host" (%arg0) -> (%[[X]])
// PROGRAM-NEXT: dtorch.invoke @layer (%[[X]], %arg1, %arg2) -> (%[[Y]]) at 0 {dtorch.module = "0"}
// PROGRAM-NEXT: dtorch.invoke @layer (%[[Y]], %arg3, %arg4) -> (%[[Z]]) at 0 {dtorch.module = "1"}
// PROGRAM-NEXT: dtorch.communicate "to_host" (%[[Z]]) -> (%result0)
// PROGRAM-NEXT: }
