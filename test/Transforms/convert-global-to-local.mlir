// RUN: dtorch-opt %s -split-input-file -dtorch-convert-global-to-local -verify-diagnostics | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S0_on_dp = #dtorch.sharding<#mesh, [S(0)]>

// CHECK: module attributes {dtorch.phase = "local"}
// CHECK-LABEL: func @main
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>> {dtorch.name = "x"}) -> (tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>> {dtorch.name = "y"})
// CHECK-NEXT: dtorch.unary %[[X]] {kind = "exp"} : (tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>) -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>
func.func @main(%x: tensor<3x8xf32, #S0_on_dp> {dtorch.name = "x"}) -> (tensor<3x8xf32, #S0_on_dp> {dtorch.name = "y"}) {
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<3x8xf32, #S0_on_dp>) -> tensor<3x8xf32, #S0_on_dp>
  return %0 : tensor<3x8xf32, #S0_on_dp>
}

// -----

// Equal parts have sizes; steps, calls and host tensors have local types too.
#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 3], start = 0, strides = [3, 1]>
#SS = #dtorch.sharding<#mesh, [S(0), S(1)]>
#S = #dtorch.sharding<#mesh, [S(0), R]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>

// CHECK-LABEL: func private @f
// CHECK-SAME: tensor<2x?xf32, #dtorch.local<[4, 8], #S0_on_dp_S1_on_tp>>) -> tensor<2x8xf32, #dtorch.local<[4, 8], #S0_on_dp>>
func.func private @f(%x: tensor<4x8xf32, #SS>) -> tensor<4x8xf32, #S> {
  // CHECK: dtorch.all_gather %{{.*}} over [1] : tensor<2x?xf32, #dtorch.local<[4, 8], #S0_on_dp_S1_on_tp>> -> tensor<2x8xf32, #dtorch.local<[4, 8], #S0_on_dp>>
  %0 = dtorch.all_gather %x over [1] : tensor<4x8xf32, #SS> -> tensor<4x8xf32, #S>
  return %0 : tensor<4x8xf32, #S>
}
// CHECK-LABEL: func @calls
// CHECK-SAME: (%{{.*}}: tensor<4x8xf32, #dtorch.local<[4, 8], #host>>)
func.func @calls(%x: tensor<4x8xf32, #host>) -> tensor<4x8xf32, #S> {
  // CHECK: dtorch.from_host %{{.*}} : tensor<4x8xf32, #dtorch.local<[4, 8], #host>> -> tensor<2x?xf32
  %0 = dtorch.from_host %x : tensor<4x8xf32, #host> -> tensor<4x8xf32, #SS>
  // CHECK: call @f(%{{.*}}) : (tensor<2x?xf32, {{.*}}>) -> tensor<2x8xf32, {{.*}}>
  %1 = func.call @f(%0) : (tensor<4x8xf32, #SS>) -> tensor<4x8xf32, #S>
  return %1 : tensor<4x8xf32, #S>
}

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @redistribute(%x: tensor<4xf32, #R>) {
  // expected-error @+1 {{redistribute: must be lowered before types become local; run dtorch-lower-redistributes}}
  %0 = dtorch.redistribute %x : tensor<4xf32, #R> -> tensor<4xf32, #R>
  return
}

// -----

// expected-error @+1 {{func: tensors must have a sharding, got 'tensor<4xf32>'; run dtorch-infer-placements}}
func.func @unplaced(%x: tensor<4xf32>) {
  return
}
