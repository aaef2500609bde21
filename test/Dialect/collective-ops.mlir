// RUN: dtorch-opt %s | dtorch-opt | FileCheck %s
// RUN: dtorch-opt %s -mlir-print-op-generic | dtorch-opt | FileCheck %s
// The example of each op's description, and each step on local types.

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#R = #dtorch.sharding<#mesh, [R, R]>
#S0dp = #dtorch.sharding<#mesh, [S(0), R]>
#S0tp = #dtorch.sharding<#mesh, [R, S(0)]>
#S1dp = #dtorch.sharding<#mesh, [S(1), R]>
#Pdp = #dtorch.sharding<#mesh, [P, R]>
#P = #dtorch.sharding<#mesh, [P, P]>

// CHECK-LABEL: func @redistribute
func.func @redistribute(%x: tensor<4x8xf32, #S0dp>, %y: tensor<4x8xf32>) {
  // CHECK: dtorch.redistribute %{{.*}} : tensor<4x8xf32, #S0_on_dp> -> tensor<4x8xf32, #replicated>
  %1 = dtorch.redistribute %x : tensor<4x8xf32, #S0dp> -> tensor<4x8xf32, #R>
  // In the global phase the operand need not be placed yet.
  // CHECK: dtorch.redistribute %{{.*}} : tensor<4x8xf32> -> tensor<4x8xf32, #host>
  %2 = dtorch.redistribute %y : tensor<4x8xf32> -> tensor<4x8xf32, #host>
  return
}

// CHECK-LABEL: func @steps
func.func @steps(%p2: tensor<2xf32, #P>, %s3: tensor<3xf32, #S0dp>, %p3: tensor<3xf32, #Pdp>,
                 %m: tensor<3x2xf32, #S0dp>, %s4: tensor<4xf32, #S0dp>,
                 %r3: tensor<3xf32, #R>, %r2: tensor<2xf32, #R>) {
  // CHECK: dtorch.all_reduce %{{.*}} over [0, 1] : tensor<2xf32, #P_on_dp_P_on_tp> -> tensor<2xf32, #replicated>
  %0 = dtorch.all_reduce %p2 over [0, 1] : tensor<2xf32, #P> -> tensor<2xf32, #R>
  // CHECK: dtorch.all_gather %{{.*}} over [0] : tensor<3xf32, #S0_on_dp> -> tensor<3xf32, #replicated>
  %1 = dtorch.all_gather %s3 over [0] : tensor<3xf32, #S0dp> -> tensor<3xf32, #R>
  // CHECK: dtorch.reduce_scatter %{{.*}} over [0] : tensor<3xf32, #P_on_dp> -> tensor<3xf32, #S0_on_dp>
  %2 = dtorch.reduce_scatter %p3 over [0] : tensor<3xf32, #Pdp> -> tensor<3xf32, #S0dp>
  // CHECK: dtorch.all_to_all %{{.*}} over [0] : tensor<3x2xf32, #S0_on_dp> -> tensor<3x2xf32, #S1_on_dp>
  %3 = dtorch.all_to_all %m over [0] : tensor<3x2xf32, #S0dp> -> tensor<3x2xf32, #S1dp>
  // CHECK: dtorch.exchange %{{.*}} over [0, 1] : tensor<4xf32, #S0_on_dp> -> tensor<4xf32, #S0_on_tp>
  %4 = dtorch.exchange %s4 over [0, 1] : tensor<4xf32, #S0dp> -> tensor<4xf32, #S0tp>
  // CHECK: dtorch.local_slice %{{.*}} over [0] : tensor<3xf32, #replicated> -> tensor<3xf32, #S0_on_dp>
  %5 = dtorch.local_slice %r3 over [0] : tensor<3xf32, #R> -> tensor<3xf32, #S0dp>
  // CHECK: dtorch.local_mask %{{.*}} over [0] : tensor<2xf32, #replicated> -> tensor<2xf32, #P_on_dp>
  %6 = dtorch.local_mask %r2 over [0] : tensor<2xf32, #R> -> tensor<2xf32, #Pdp>
  return
}

// CHECK-LABEL: func @host
func.func @host(%h: tensor<3xf32, #host>, %s: tensor<3xf32, #S0dp>) {
  // CHECK: dtorch.from_host %{{.*}} : tensor<3xf32, #host> -> tensor<3xf32, #S0_on_dp>
  %0 = dtorch.from_host %h : tensor<3xf32, #host> -> tensor<3xf32, #S0dp>
  // CHECK: dtorch.from_host %{{.*}} : tensor<3xf32, #host> -> tensor<3xf32, #P_on_dp>
  %1 = dtorch.from_host %h : tensor<3xf32, #host> -> tensor<3xf32, #Pdp>
  // CHECK: dtorch.to_host %{{.*}} : tensor<3xf32, #S0_on_dp> -> tensor<3xf32, #host>
  %2 = dtorch.to_host %s : tensor<3xf32, #S0dp> -> tensor<3xf32, #host>
  return
}

#L3 = #dtorch.local<[3], #S0dp>
// CHECK-LABEL: func @local
func.func @local(%s: tensor<?xf32, #L3>, %h: tensor<3xf32, #dtorch.local<[3], #host>>) {
  // CHECK: dtorch.all_gather %{{.*}} over [0] : tensor<?xf32, #dtorch.local<[3], #S0_on_dp>> -> tensor<3xf32, #dtorch.local<[3], #replicated>>
  %0 = dtorch.all_gather %s over [0] : tensor<?xf32, #L3> -> tensor<3xf32, #dtorch.local<[3], #R>>
  // CHECK: dtorch.from_host %{{.*}} : tensor<3xf32, #dtorch.local<[3], #host>> -> tensor<?xf32, #dtorch.local<[3], #S0_on_dp>>
  %1 = dtorch.from_host %h : tensor<3xf32, #dtorch.local<[3], #host>> -> tensor<?xf32, #L3>
  return
}
