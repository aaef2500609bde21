// RUN: dtorch-opt %s -split-input-file -dtorch-verify-placements -verify-diagnostics | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S1_on_tp = #dtorch.sharding<#mesh, [S(1)]>

// CHECK-LABEL: func @main
// CHECK-NEXT: dtorch.unary %{{.*}} {kind = "exp"} : (tensor<8x4xf32, #S1_on_tp>) -> tensor<8x4xf32, #S1_on_tp>
func.func @main(%x: tensor<8x4xf32, #S1_on_tp>) {
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<8x4xf32, #S1_on_tp>) -> tensor<8x4xf32, #S1_on_tp>
  return
}

// -----

func.func @unplaced(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{unary: tensors of the placed phase must have a sharding, got 'tensor<8x4xf32>'; run dtorch-infer-placements}}
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["tp" = 1], start = 0, strides = [1]>
#S = #dtorch.sharding<#mesh, [S(0)]>
func.func @normal(%x: tensor<8x4xf32, #S>) {
  // expected-error @+1 {{unary: shardings must be in normal form, [R], got [S(0)]}}
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<8x4xf32, #S>) -> tensor<8x4xf32, #S>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#S1 = #dtorch.sharding<#mesh, [S(1)]>
func.func @row(%x: tensor<8x4xf32, #S1>) {
  // expected-error @+2 {{softmax: placements must match a row of the rule on every axis, got input [S(1)] -> [S(0)]}}
  // expected-note @+1 {{legal rows for one axis: (R -> R) (S(0) -> S(0))}}
  %0 = dtorch.softmax %x {dim = 1 : i64} : (tensor<8x4xf32, #S1>) -> tensor<8x4xf32, #S0>
  return
}

// -----

// Uneven shards that fall on other boundaries match no row: three columns of
// head size 2 are one and a half heads each.
#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S1 = #dtorch.sharding<#mesh, [S(1)]>
func.func @boundaries(%x: tensor<4x6xf32, #S1>) {
  // expected-error-re @+2 {{view: placements must match {{.*}}}}
  // expected-note-re @+1 {{legal rows for one axis: {{.*}}}}
  %0 = dtorch.view %x {shape = array<i64: 4, 3, 2>} : (tensor<4x6xf32, #S1>) -> tensor<4x3x2xf32, #S1>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
func.func @host(%x: tensor<4xf32, #R>, %s: tensor<f32, #host>) {
  // expected-error @+1 {{add: operands must be on one mesh, got mesh<cpu, ["tp" = 2], start = 0, strides = [1]> and mesh<cpu, host>}}
  %0 = dtorch.binary %x, %s {kind = "add"} : (tensor<4xf32, #R>, tensor<f32, #host>) -> tensor<4xf32, #R>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
func.func @result_mesh(%x: tensor<4xf32, #R>) {
  // expected-error @+1 {{exp: the result must be on the mesh of the operands}}
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<4xf32, #R>) -> tensor<4xf32, #host>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
#P = #dtorch.sharding<#mesh, [P]>
func.func @step(%x: tensor<4xf32, #P>) {
  // expected-error @+1 {{dtorch-verify-placements: must be a compute op, redistribute, call or return, got dtorch.all_reduce}}
  %0 = dtorch.all_reduce %x over [0] : tensor<4xf32, #P> -> tensor<4xf32, #R>
  return
}
