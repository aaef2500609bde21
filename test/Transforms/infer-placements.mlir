// RUN: dtorch-opt %s -split-input-file -dtorch-infer-placements | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#S0_on_dp = #dtorch.sharding<#mesh, [S(0), R]>
#S0_on_tp = #dtorch.sharding<#mesh, [R, S(0)]>

// CHECK-LABEL: func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32, #S0_on_dp>, %[[W:.*]]: tensor<6x8xf32, #S0_on_tp>) -> tensor<4x6xf32, #S0_on_dp_S1_on_tp>
// CHECK-NEXT: %[[Y:.*]] = dtorch.linear %[[X]], %[[W]] : (tensor<4x8xf32, #S0_on_dp>, tensor<6x8xf32, #S0_on_tp>) -> tensor<4x6xf32, #S0_on_dp_S1_on_tp>
// CHECK-NEXT: return %[[Y]] : tensor<4x6xf32, #S0_on_dp_S1_on_tp>
func.func @main(%x: tensor<4x8xf32, #S0_on_dp>, %w: tensor<6x8xf32, #S0_on_tp>) -> tensor<4x6xf32> {
  %0 = dtorch.linear %x, %w : (tensor<4x8xf32, #S0_on_dp>, tensor<6x8xf32, #S0_on_tp>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// Host tensors join a mesh as replicated; an argument without a sharding is one,
// and ops on host tensors alone stay on the host.
#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>

// CHECK-LABEL: func @host
// CHECK-SAME: tensor<f32, #host>, %{{.*}}: tensor<f32, #host>
func.func @host(%x: tensor<3xf32, #S0>, %s: tensor<f32, #host>, %t: tensor<f32>) -> tensor<3xf32> {
  // CHECK: dtorch.binary %{{.*}} {kind = "add"} : (tensor<f32, #host>, tensor<f32, #host>) -> tensor<f32, #host>
  %0 = dtorch.binary %s, %t {kind = "add"} : (tensor<f32, #host>, tensor<f32>) -> tensor<f32>
  // CHECK: dtorch.binary %{{.*}} {kind = "mul"} : (tensor<3xf32, #S0_on_dp>, tensor<f32, #host>) -> tensor<3xf32, #S0_on_dp>
  %1 = dtorch.binary %x, %0 {kind = "mul"} : (tensor<3xf32, #S0>, tensor<f32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// Shardings get their normal form: R on axes of size 1, no unit where blocks
// divide evenly.
#mesh = #dtorch.mesh<cpu, ["dp" = 1, "tp" = 2], start = 0, strides = [2, 1]>
#S = #dtorch.sharding<#mesh, [S(0), S(1:4)]>

// CHECK-LABEL: func @normal
// CHECK-SAME: tensor<3x8xf32, #S1_on_tp>, %{{.*}}: tensor<3x12xf32, #S1u4_on_tp>
func.func @normal(%x: tensor<3x8xf32, #S>, %y: tensor<3x12xf32, #S>) -> (tensor<3x8xf32>, tensor<3x12xf32>) {
  // CHECK: dtorch.redistribute %{{.*}} -> tensor<3x8xf32, #S1_on_tp>
  %0 = dtorch.redistribute %x : tensor<3x8xf32, #S> -> tensor<3x8xf32, #S>
  %1 = dtorch.unary %0 {kind = "exp"} : (tensor<3x8xf32, #S>) -> tensor<3x8xf32>
  // CHECK: dtorch.unary {{.*}} -> tensor<3x12xf32, #S1u4_on_tp>
  %2 = dtorch.unary %y {kind = "exp"} : (tensor<3x12xf32, #S>) -> tensor<3x12xf32>
  return %1, %2 : tensor<3x8xf32>, tensor<3x12xf32>
}

// -----

// A private function once per signature: the second one makes a copy, a third
// call with the first signature does not. What nobody calls goes away.
#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>

// CHECK-LABEL: func private @layer(
// CHECK-SAME: tensor<4x4xf32, #S0_on_dp>) -> tensor<4x4xf32, #S0_on_dp>
// CHECK: dtorch.unary {{.*}} -> tensor<4x4xf32, #S0_on_dp>
// CHECK-LABEL: func private @layer_1(
// CHECK-SAME: tensor<4x4xf32, #replicated>) -> tensor<4x4xf32, #replicated>
// CHECK: dtorch.unary {{.*}} -> tensor<4x4xf32, #replicated>
func.func private @layer(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
// CHECK-NOT: @unused
func.func private @unused(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}
// CHECK-LABEL: func @calls
func.func @calls(%x: tensor<4x4xf32, #S0>) -> tensor<4x4xf32> {
  // A value with a sharding enters a function whose argument has none yet.
  %0 = builtin.unrealized_conversion_cast %x : tensor<4x4xf32, #S0> to tensor<4x4xf32>
  // CHECK-NEXT: %[[A:.*]] = call @layer(%{{.*}}) {dtorch.module = "layers.0"} : (tensor<4x4xf32, #S0_on_dp>) -> tensor<4x4xf32, #S0_on_dp>
  %1 = func.call @layer(%0) {dtorch.module = "layers.0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[B:.*]] = call @layer(%[[A]]) {dtorch.module = "layers.1"}
  %2 = func.call @layer(%1) {dtorch.module = "layers.1"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %[[C:.*]] = dtorch.redistribute %[[B]]
  %3 = dtorch.redistribute %2 : tensor<4x4xf32> -> tensor<4x4xf32, #R>
  %4 = builtin.unrealized_conversion_cast %3 : tensor<4x4xf32, #R> to tensor<4x4xf32>
  // CHECK-NEXT: call @layer_1(%[[C]]) {dtorch.module = "layers.2"} : (tensor<4x4xf32, #replicated>) -> tensor<4x4xf32, #replicated>
  %5 = func.call @layer(%4) {dtorch.module = "layers.2"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}
