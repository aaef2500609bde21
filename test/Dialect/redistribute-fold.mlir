// RUN: dtorch-opt %s -canonicalize | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>

// A change to what a tensor is already goes away; another one stays.
// CHECK-LABEL: func @same
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32, #S0_on_dp>)
// CHECK-NEXT: %[[R:.*]] = dtorch.redistribute %[[X]]
// CHECK-NEXT: return %[[X]], %[[R]]
func.func @same(%x: tensor<4xf32, #S0>) -> (tensor<4xf32, #S0>, tensor<4xf32, #R>) {
  %0 = dtorch.redistribute %x : tensor<4xf32, #S0> -> tensor<4xf32, #S0>
  %1 = dtorch.redistribute %0 : tensor<4xf32, #S0> -> tensor<4xf32, #R>
  return %0, %1 : tensor<4xf32, #S0>, tensor<4xf32, #R>
}
