// RUN: dtorch-opt %s -split-input-file -dtorch-verify-local -verify-diagnostics | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S0_on_dp = #dtorch.sharding<#mesh, [S(0)]>

// CHECK-LABEL: func @main
// CHECK-NEXT: dtorch.unary
func.func @main(%x: tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>) {
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>) -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
func.func @global(%x: tensor<3x8xf32, #S0>) {
  // expected-error @+1 {{unary: tensors of the local phase must have #dtorch.local}}
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<3x8xf32, #S0>) -> tensor<3x8xf32, #S0>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#P = #dtorch.local<[4], #dtorch.sharding<#mesh, [P]>>
func.func @row(%x: tensor<4xf32, #P>) {
  // expected-error @+2 {{log: placements must match a row of the rule on every axis, got input [P] -> [P]}}
  // expected-note @+1 {{legal rows for one axis: (R -> R) (S(0) -> S(0))}}
  %0 = dtorch.unary %x {kind = "log"} : (tensor<4xf32, #P>) -> tensor<4xf32, #P>
  return
}

// -----

// A step checks itself, with or without this pass.
#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S = #dtorch.local<[4], #dtorch.sharding<#mesh, [S(0)]>>
#R = #dtorch.local<[4], #dtorch.sharding<#mesh, [R]>>
func.func @step(%x: tensor<2xf32, #S>) {
  // expected-error-re @+1 {{all_reduce: {{.+}}}}
  %0 = dtorch.all_reduce %x over [0] : tensor<2xf32, #S> -> tensor<4xf32, #R>
  return
}
