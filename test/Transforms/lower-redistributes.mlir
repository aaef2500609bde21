// RUN: dtorch-opt %s -split-input-file -dtorch-lower-redistributes | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#P = #dtorch.sharding<#mesh, [P, P]>
#R = #dtorch.sharding<#mesh, [R, R]>

// CHECK-LABEL: func @main
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32, #P_on_dp_P_on_tp>)
// CHECK-NEXT: %[[Y:.*]] = dtorch.all_reduce %[[X]] over [0, 1] : tensor<8x4xf32, #P_on_dp_P_on_tp> -> tensor<8x4xf32, #replicated>
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<8x4xf32, #P>) -> tensor<8x4xf32, #R> {
  %0 = dtorch.redistribute %x : tensor<8x4xf32, #P> -> tensor<8x4xf32, #R>
  return %0 : tensor<8x4xf32, #R>
}

// -----

// Each kind of step, as the plan of least bytes has it.
#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
#P = #dtorch.sharding<#mesh, [P]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#S1 = #dtorch.sharding<#mesh, [S(1)]>
#S1u4 = #dtorch.sharding<#mesh, [S(1:4)]>

// CHECK-LABEL: func @steps
func.func @steps(%r: tensor<3x12xf32, #R>, %p: tensor<3x12xf32, #P>, %s: tensor<3x12xf32, #S0>, %t: tensor<3x12xf32, #S1>) {
  // CHECK-NEXT: dtorch.local_slice %{{.*}} over [0] : {{.*}}#replicated> -> {{.*}}#S0_on_x>
  %0 = dtorch.redistribute %r : tensor<3x12xf32, #R> -> tensor<3x12xf32, #S0>
  // CHECK-NEXT: dtorch.local_mask %{{.*}} over [0]
  %1 = dtorch.redistribute %r : tensor<3x12xf32, #R> -> tensor<3x12xf32, #P>
  // CHECK-NEXT: dtorch.all_reduce %{{.*}} over [0]
  %2 = dtorch.redistribute %p : tensor<3x12xf32, #P> -> tensor<3x12xf32, #R>
  // CHECK-NEXT: dtorch.reduce_scatter %{{.*}} over [0] : {{.*}} -> {{.*}}#S1_on_x>
  %3 = dtorch.redistribute %p : tensor<3x12xf32, #P> -> tensor<3x12xf32, #S1>
  // CHECK-NEXT: dtorch.all_gather %{{.*}} over [0]
  %4 = dtorch.redistribute %s : tensor<3x12xf32, #S0> -> tensor<3x12xf32, #R>
  // CHECK-NEXT: dtorch.all_to_all %{{.*}} over [0]
  %5 = dtorch.redistribute %s : tensor<3x12xf32, #S0> -> tensor<3x12xf32, #S1>
  // A unit moves the boundaries of the shards.
  // CHECK-NEXT: dtorch.exchange %{{.*}} over [0] : {{.*}}#S1_on_x> -> {{.*}}#S1u4_on_x>
  %6 = dtorch.redistribute %t : tensor<3x12xf32, #S1> -> tensor<3x12xf32, #S1u4>
  // CHECK-NEXT: return
  return
}

// -----

// Plans of several steps; an outer shard put before an inner one moves pieces.
#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#dp = #dtorch.sharding<#mesh, [S(0), R]>
#tp = #dtorch.sharding<#mesh, [R, S(0)]>
#PS = #dtorch.sharding<#mesh, [P, S(0)]>
#SS = #dtorch.sharding<#mesh, [S(0), S(0)]>
#R = #dtorch.sharding<#mesh, [R, R]>

// CHECK-LABEL: func @several
func.func @several(%x: tensor<8xf32, #dp>, %p: tensor<8xf32, #PS>, %y: tensor<8xf32, #tp>) {
  // CHECK-NEXT: %[[G:.*]] = dtorch.all_gather %{{.*}} over [0] : tensor<8xf32, #S0_on_dp> -> tensor<8xf32, #replicated>
  // CHECK-NEXT: dtorch.local_slice %[[G]] over [1] : tensor<8xf32, #replicated> -> tensor<8xf32, #S0_on_tp>
  %0 = dtorch.redistribute %x : tensor<8xf32, #dp> -> tensor<8xf32, #tp>
  // CHECK-NEXT: %[[A:.*]] = dtorch.all_reduce %{{.*}} over [0] : tensor<8xf32, #P_on_dp_S0_on_tp> -> tensor<8xf32, #S0_on_tp>
  // CHECK-NEXT: dtorch.all_gather %[[A]] over [1] : tensor<8xf32, #S0_on_tp> -> tensor<8xf32, #replicated>
  %1 = dtorch.redistribute %p : tensor<8xf32, #PS> -> tensor<8xf32, #R>
  // CHECK-NEXT: dtorch.exchange %{{.*}} over [0, 1] : tensor<8xf32, #S0_on_tp> -> tensor<8xf32, #S0_on_dp_S0_on_tp>
  %2 = dtorch.redistribute %y : tensor<8xf32, #tp> -> tensor<8xf32, #SS>
  return
}

// -----

// From the host to any placement without communication; to the host by one
// gather, pending axes reduced first: to shards where there is a dim for it.
#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#one = #dtorch.mesh<cpu, [], start = 0, strides = []>
#P = #dtorch.sharding<#mesh, [P]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#device = #dtorch.sharding<#one, []>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>

// CHECK-LABEL: func @host
func.func @host(%h: tensor<3xf32, #host>, %s: tensor<3xf32, #S0>, %p: tensor<3xf32, #P>, %t: tensor<f32, #P>) {
  // CHECK-NEXT: dtorch.from_host %{{.*}} -> tensor<3xf32, #P_on_x>
  %0 = dtorch.redistribute %h : tensor<3xf32, #host> -> tensor<3xf32, #P>
  // CHECK-NEXT: dtorch.from_host
  %1 = dtorch.redistribute %h : tensor<3xf32, #host> -> tensor<3xf32, #device>
  // CHECK-NEXT: dtorch.to_host
  %2 = dtorch.redistribute %s : tensor<3xf32, #S0> -> tensor<3xf32, #host>
  // CHECK-NEXT: %[[S:.*]] = dtorch.reduce_scatter %{{.*}} over [0] : tensor<3xf32, #P_on_x> -> tensor<3xf32, #S0_on_x>
  // CHECK-NEXT: dtorch.to_host %[[S]]
  %3 = dtorch.redistribute %p : tensor<3xf32, #P> -> tensor<3xf32, #host>
  // CHECK-NEXT: %[[R:.*]] = dtorch.all_reduce %{{.*}} over [0] : tensor<f32, #P_on_x> -> tensor<f32, #{{.*}}>
  // CHECK-NEXT: dtorch.to_host %[[R]]
  %4 = dtorch.redistribute %t : tensor<f32, #P> -> tensor<f32, #host>
  // CHECK-NEXT: return
  return
}

// -----

// No change, no op.
#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>

// CHECK-LABEL: func @same
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32, #S0_on_x>, %[[H:.*]]: tensor<3xf32, #host>)
// CHECK-NEXT: return %[[X]], %[[H]]
func.func @same(%x: tensor<3xf32, #S0>, %h: tensor<3xf32, #host>) -> (tensor<3xf32, #S0>, tensor<3xf32, #host>) {
  %0 = dtorch.redistribute %x : tensor<3xf32, #S0> -> tensor<3xf32, #S0>
  %1 = dtorch.redistribute %h : tensor<3xf32, #host> -> tensor<3xf32, #host>
  return %0, %1 : tensor<3xf32, #S0>, tensor<3xf32, #host>
}
