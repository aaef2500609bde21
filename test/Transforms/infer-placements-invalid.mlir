// RUN: dtorch-opt %s -split-input-file -dtorch-infer-placements -verify-diagnostics

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#other = #dtorch.mesh<cpu, ["dp" = 2], start = 2, strides = [1]>
#A = #dtorch.sharding<#mesh, [R]>
#B = #dtorch.sharding<#other, [R]>
func.func @meshes(%x: tensor<4xf32, #A>, %y: tensor<4xf32, #B>) {
  // expected-error @+1 {{add: operands must be on one mesh, got mesh<cpu, ["dp" = 2], start = 0, strides = [1]> and mesh<cpu, ["dp" = 2], start = 2, strides = [1]>; redistribute one of them}}
  %0 = dtorch.binary %x, %y {kind = "add"} : (tensor<4xf32, #A>, tensor<4xf32, #B>) -> tensor<4xf32>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S1 = #dtorch.sharding<#mesh, [S(1)]>
func.func @strict(%x: tensor<8x4xf32, #S1>) {
  // expected-error @+3 {{softmax: placements must match a row of the rule on every axis in strict mode, got input [S(1)]}}
  // expected-note @+2 {{legal rows for one axis: (R -> R) (S(0) -> S(0))}}
  // expected-note @+1 {{redistribute an operand, or use mode "auto"}}
  %0 = dtorch.softmax %x {dim = 1 : i64, dtorch.strict} : (tensor<8x4xf32, #S1>) -> tensor<8x4xf32>
  return
}

// -----

// In strict mode a local slice is still free, and a host tensor still joins.
#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
module attributes {dtorch.strict} {
  func.func @free(%x: tensor<4xf32, #S0>, %y: tensor<4xf32, #R>, %h: tensor<4xf32, #host>) {
    %0 = dtorch.binary %x, %y {kind = "add"} : (tensor<4xf32, #S0>, tensor<4xf32, #R>) -> tensor<4xf32>
    %1 = dtorch.binary %0, %h {kind = "add"} : (tensor<4xf32>, tensor<4xf32, #host>) -> tensor<4xf32>
    return
  }
}

// -----

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @declared(%x: tensor<4xf32, #S0>) -> tensor<4xf32, #R> {
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<4xf32, #S0>) -> tensor<4xf32, #R>
  // expected-error @+1 {{return: result 0 of @declared is declared}}
  return %0 : tensor<4xf32, #R>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{function @f: must not call itself}}
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @recursion(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{function @external: must have a body of one block}}
func.func private @external(tensor<4xf32>) -> tensor<4xf32>
func.func @no_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @external(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @other_op(%x: tensor<4xf32>) {
  // expected-error @+1 {{dtorch-infer-placements: must be a compute op, redistribute, call or return, got builtin.module}}
  builtin.module {}
  return
}
