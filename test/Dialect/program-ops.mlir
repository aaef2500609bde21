// RUN: dtorch-opt %s | dtorch-opt | FileCheck %s
// RUN: dtorch-opt %s -mlir-print-op-generic | dtorch-opt | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#R = #dtorch.sharding<#mesh, [R, R]>
#S0 = #dtorch.sharding<#mesh, [S(0), R]>
#W = #dtorch.sharding<#mesh, [R, S(1)]>
#P = #dtorch.sharding<#mesh, [S(0), P]>
#X = #dtorch.sharding<#mesh, [S(0), S(1)]>

module attributes {dtorch.phase = "program"} {
  // CHECK-LABEL: dtorch.program_func private @layer arena 64 {
  dtorch.program_func private @layer arena 64 {
    // CHECK-NEXT: %arg0 = dtorch.buffer argument 0 : !dtorch.buffer<3x5xf32, #S0_on_dp_S1_on_tp>
    %x = dtorch.buffer argument 0 : !dtorch.buffer<3x5xf32, #X>
    // CHECK-NEXT: %arg1 = dtorch.buffer argument 1 : !dtorch.buffer<8x5xf32, #S1_on_tp>
    %w = dtorch.buffer argument 1 : !dtorch.buffer<8x5xf32, #W>
    // CHECK-NEXT: %result0 = dtorch.buffer result 0 : !dtorch.buffer<3x8xf32, #S0_on_dp>
    %y = dtorch.buffer result 0 : !dtorch.buffer<3x8xf32, #S0>
    // CHECK-NEXT: %0 = dtorch.buffer arena 0 : !dtorch.buffer<3x8xf32, #S0_on_dp_P_on_tp>
    %0 = dtorch.buffer arena 0 : !dtorch.buffer<3x8xf32, #P>
    // CHECK-NEXT: dtorch.launch "linear" (%arg0, %arg1) -> (%0) {}
    dtorch.launch "linear" (%x, %w) -> (%0) {}
    // CHECK-NEXT: dtorch.communicate "all_reduce" (%0) -> (%result0) over [1]
    dtorch.communicate "all_reduce" (%0) -> (%y) over [1]
  }
  // CHECK-LABEL: dtorch.program_func @main arena 192 {
  dtorch.program_func @main arena 192 {
    %x = dtorch.buffer argument 0 "x" : !dtorch.buffer<3x5xf32, #host>
    // CHECK: %arg1 = dtorch.buffer argument 1 "fc1.weight" parameter : !dtorch.buffer<8x5xf32, #S1_on_tp>
    %w = dtorch.buffer argument 1 "fc1.weight" parameter : !dtorch.buffer<8x5xf32, #W>
    // CHECK: %result0 = dtorch.buffer result 0 "y" : !dtorch.buffer<24xf32, #host>
    %y = dtorch.buffer result 0 "y" : !dtorch.buffer<24xf32, #host>
    // CHECK: %result1 = dtorch.buffer result 1 "again"
    %z = dtorch.buffer result 1 "again" : !dtorch.buffer<24xf32, #host>
    %0 = dtorch.buffer arena 0 : !dtorch.buffer<3x5xf32, #X>
    %1 = dtorch.buffer arena 64 : !dtorch.buffer<3x8xf32, #S0>
    // CHECK: %[[ALIAS:.*]] = dtorch.buffer alias %result0 : !dtorch.buffer<3x8xf32, #host>
    %2 = dtorch.buffer alias %y : !dtorch.buffer<3x8xf32, #host>
    // CHECK: dtorch.communicate "from_host" (%arg0) -> (%0){{$}}
    dtorch.communicate "from_host" (%x) -> (%0)
    // CHECK: dtorch.invoke @layer (%0, %arg1) -> (%1) at 128 {dtorch.module = "layers.0"}
    dtorch.invoke @layer (%0, %w) -> (%1) at 128 {dtorch.module = "layers.0"}
    // CHECK: dtorch.communicate "to_host" (%1) -> (%[[ALIAS]])
    dtorch.communicate "to_host" (%1) -> (%2)
    // CHECK: dtorch.copy (%result0) -> (%result1)
    dtorch.copy (%y) -> (%z)
  }
}
