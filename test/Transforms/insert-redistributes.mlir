// RUN: dtorch-opt %s -split-input-file -dtorch-insert-redistributes | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S0_on_tp = #dtorch.sharding<#mesh, [S(0)]>
#S1_on_tp = #dtorch.sharding<#mesh, [S(1)]>

// CHECK: module attributes {dtorch.phase = "placed"}
// CHECK-LABEL: func @main
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32, #S1_on_tp>)
// CHECK-NEXT: %[[Y:.*]] = dtorch.redistribute %[[X]] : tensor<8x4xf32, #S1_on_tp> -> tensor<8x4xf32, #S0_on_tp>
// CHECK-NEXT: dtorch.softmax %[[Y]] {dim = 1 : i64} : (tensor<8x4xf32, #S0_on_tp>) -> tensor<8x4xf32, #S0_on_tp>
func.func @main(%x: tensor<8x4xf32, #S1_on_tp>) -> tensor<8x4xf32, #S0_on_tp> {
  %0 = dtorch.softmax %x {dim = 1 : i64} : (tensor<8x4xf32, #S1_on_tp>) -> tensor<8x4xf32, #S0_on_tp>
  return %0 : tensor<8x4xf32, #S0_on_tp>
}

// -----

// A value is changed to one sharding once, an explicit change serves too, and a
// host tensor goes to its place directly.
#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
#P = #dtorch.sharding<#mesh, [P]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>

// CHECK-LABEL: func @once
// CHECK-SAME: (%[[P:.*]]: tensor<4xf32, #P_on_tp>, %[[H:.*]]: tensor<4xf32, #host>, %[[X:.*]]: tensor<4xf32, #S0_on_tp>)
func.func @once(%p: tensor<4xf32, #P>, %h: tensor<4xf32, #host>, %x: tensor<4xf32, #S0>) {
  // CHECK-NEXT: %[[R:.*]] = dtorch.redistribute %[[P]] : tensor<4xf32, #P_on_tp> -> tensor<4xf32, #[[Q:.*]]>
  // CHECK-NEXT: dtorch.unary %[[R]] {kind = "log"}
  // CHECK-NEXT: dtorch.unary %[[R]] {kind = "sqrt"}
  %0 = dtorch.unary %p {kind = "log"} : (tensor<4xf32, #P>) -> tensor<4xf32, #S0>
  %1 = dtorch.unary %p {kind = "sqrt"} : (tensor<4xf32, #P>) -> tensor<4xf32, #S0>
  // CHECK-NEXT: %[[S:.*]] = dtorch.redistribute %[[H]] : tensor<4xf32, #host> -> tensor<4xf32, #S0_on_tp>
  // CHECK-NEXT: dtorch.binary %[[X]], %[[S]] {kind = "add"}
  %2 = dtorch.binary %x, %h {kind = "add"} : (tensor<4xf32, #S0>, tensor<4xf32, #host>) -> tensor<4xf32, #S0>
  // CHECK-NEXT: dtorch.binary %[[S]], %[[X]] {kind = "mul"}
  %3 = dtorch.binary %h, %x {kind = "mul"} : (tensor<4xf32, #host>, tensor<4xf32, #S0>) -> tensor<4xf32, #S0>
  // CHECK-NEXT: return
  return
}
