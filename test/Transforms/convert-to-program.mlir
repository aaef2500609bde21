// RUN: dtorch-opt %s -split-input-file -dtorch-convert-to-program -verify-diagnostics | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#L = #dtorch.local<[4], #dtorch.sharding<#mesh, [R]>>

// CHECK: module attributes {dtorch.phase = "program"}
// CHECK-LABEL: dtorch.program_func @main arena 64 {
// CHECK-NEXT: %arg0 = dtorch.buffer argument 0 "x" : !dtorch.buffer<4xf32, #replicated>
// CHECK-NEXT: %result0 = dtorch.buffer result 0 "y" : !dtorch.buffer<4xf32, #replicated>
// CHECK-NEXT: %0 = dtorch.buffer arena 0 : !dtorch.buffer<4xf32, #replicated>
// CHECK-NEXT: dtorch.launch "unary" (%arg0) -> (%0) {kind = "neg"}
// CHECK-NEXT: dtorch.launch "unary" (%0) -> (%result0) {kind = "exp"}
// CHECK-NEXT: }
func.func @main(%x: tensor<4xf32, #L> {dtorch.name = "x"}) -> (tensor<4xf32, #L> {dtorch.name = "y"}) attributes {dtorch.arena_bytes = 64 : i64} {
  %0 = dtorch.unary %x {dtorch.memory = [#dtorch.memory<arena 0>], kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  %1 = dtorch.unary %0 {dtorch.memory = [#dtorch.memory<result 0>], kind = "exp"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  return %1 : tensor<4xf32, #L>
}

// -----

// Callees first; views are aliases, of a result buffer too; copies at the return.
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#L4 = #dtorch.local<[4], #host>
#L22 = #dtorch.local<[2, 2], #host>

// CHECK-LABEL: dtorch.program_func private @f arena 0 {
// CHECK-NEXT: %arg0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
// CHECK-NEXT: %result0 = dtorch.buffer result 0 : !dtorch.buffer<2x2xf32, #host>
// CHECK-NEXT: %result1 = dtorch.buffer result 1 : !dtorch.buffer<4xf32, #host>
// CHECK-NEXT: %0 = dtorch.buffer alias %result0 : !dtorch.buffer<4xf32, #host>
// CHECK-NEXT: dtorch.launch "unary" (%arg0) -> (%0) {kind = "neg"}
// CHECK-NEXT: dtorch.copy (%arg0) -> (%result1)
// CHECK-NEXT: }
// CHECK-LABEL: dtorch.program_func @main arena 64 {
// CHECK-NEXT: %arg0 = dtorch.buffer argument 0 "arg0" parameter : !dtorch.buffer<4xf32, #host>
// CHECK-NEXT: %result0 = dtorch.buffer result 0 "output0" : !dtorch.buffer<2x2xf32, #host>
// CHECK-NEXT: %result1 = dtorch.buffer result 1 "output1" : !dtorch.buffer<2x2xf32, #host>
// CHECK-NEXT: %0 = dtorch.buffer arena 0 : !dtorch.buffer<4xf32, #host>
// CHECK-NEXT: dtorch.invoke @f (%arg0) -> (%result0, %0) at 64 {dtorch.module = "f"}
// CHECK-NEXT: dtorch.copy (%result0) -> (%result1)
// CHECK-NEXT: }
func.func @main(%x: tensor<4xf32, #L4> {dtorch.parameter}) -> (tensor<2x2xf32, #L22>, tensor<2x2xf32, #L22>) attributes {dtorch.arena_bytes = 64 : i64} {
  %0:2 = func.call @f(%x) {dtorch.arena = 64 : i64, dtorch.memory = [#dtorch.memory<result 0>, #dtorch.memory<arena 0>], dtorch.module = "f"} : (tensor<4xf32, #L4>) -> (tensor<2x2xf32, #L22>, tensor<4xf32, #L4>)
  return %0#0, %0#0 : tensor<2x2xf32, #L22>, tensor<2x2xf32, #L22>
}
func.func private @f(%x: tensor<4xf32, #L4>) -> (tensor<2x2xf32, #L22>, tensor<4xf32, #L4>) attributes {dtorch.arena_bytes = 0 : i64} {
  %0 = dtorch.unary %x {dtorch.memory = [#dtorch.memory<result 0>], kind = "neg"} : (tensor<4xf32, #L4>) -> tensor<4xf32, #L4>
  %1 = dtorch.view %0 {dtorch.memory = [#dtorch.memory<alias>], shape = array<i64: 2, 2>} : (tensor<4xf32, #L4>) -> tensor<2x2xf32, #L22>
  return %1, %x : tensor<2x2xf32, #L22>, tensor<4xf32, #L4>
}

// -----

// Steps become communications of the kind that counters have.
#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#LR = #dtorch.local<[4], #dtorch.sharding<#mesh, [R]>>
#LS = #dtorch.local<[4], #dtorch.sharding<#mesh, [S(0)]>>
#LH = #dtorch.local<[4], #dtorch.sharding<#dtorch.mesh<cpu, host>, []>>

// CHECK-LABEL: dtorch.program_func @steps
func.func @steps(%x: tensor<4xf32, #LH>) -> tensor<4xf32, #LH> attributes {dtorch.arena_bytes = 128 : i64} {
  // CHECK: dtorch.communicate "from_host" (%arg0) -> (%0)
  %0 = dtorch.from_host %x {dtorch.memory = [#dtorch.memory<arena 0>]} : tensor<4xf32, #LH> -> tensor<4xf32, #LR>
  // CHECK: dtorch.communicate "slice" (%0) -> (%1) over [0]
  %1 = dtorch.local_slice %0 over [0] {dtorch.memory = [#dtorch.memory<arena 64>]} : tensor<4xf32, #LR> -> tensor<2xf32, #LS>
  // CHECK: dtorch.communicate "all_gather" (%1) -> (%2) over [0]
  %2 = dtorch.all_gather %1 over [0] {dtorch.memory = [#dtorch.memory<arena 0>]} : tensor<2xf32, #LS> -> tensor<4xf32, #LR>
  // CHECK: dtorch.communicate "to_host" (%2) -> (%result0)
  %3 = dtorch.to_host %2 {dtorch.memory = [#dtorch.memory<result 0>]} : tensor<4xf32, #LR> -> tensor<4xf32, #LH>
  return %3 : tensor<4xf32, #LH>
}

// -----

// expected-error @+1 {{function @unplanned: must have dtorch.arena_bytes; run dtorch-plan-buffers}}
func.func @unplanned() {
  return
}

// -----

#L = #dtorch.local<[4], #dtorch.sharding<#dtorch.mesh<cpu, host>, []>>
func.func @unplaced(%x: tensor<4xf32, #L>) attributes {dtorch.arena_bytes = 0 : i64} {
  // expected-error @+1 {{unary: must have dtorch.memory; run dtorch-plan-buffers}}
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  return
}

// -----

// expected-error @+1 {{dtorch-convert-to-program: tensors must be local; run dtorch-convert-global-to-local}}
func.func @global(%x: tensor<4xf32>) attributes {dtorch.arena_bytes = 0 : i64} {
  return
}

// -----

// A wrong plan is found by the program's verifier.
#L = #dtorch.local<[4], #dtorch.sharding<#dtorch.mesh<cpu, host>, []>>
func.func @overlap(%x: tensor<4xf32, #L>) -> tensor<4xf32, #L> attributes {dtorch.arena_bytes = 64 : i64} {
  // expected-note @+1 {{bytes 0 to 64}}
  %0 = dtorch.unary %x {dtorch.memory = [#dtorch.memory<arena 0>], kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  // expected-error @+1 {{program: bytes 0 to 64 overlap with a buffer that is still needed}}
  %1 = dtorch.unary %0 {dtorch.memory = [#dtorch.memory<arena 0>], kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  %2 = dtorch.unary %1 {dtorch.memory = [#dtorch.memory<result 0>], kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  return %2 : tensor<4xf32, #L>
}
