// RUN: dtorch-opt %s | dtorch-opt | FileCheck %s
// Each attribute in text, parsed and printed twice; aliases say what a sharding is.

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#ring = #dtorch.mesh<cpu, ["x" = 4], ids = [3, 1, 0, 2]>
#big = #dtorch.mesh<cpu, ["dp" = 128, "tp" = 128], start = 16, strides = [128, 1]>
#one = #dtorch.mesh<cpu, [], start = 3, strides = []>
// Ids that are regular become start and strides.
#same = #dtorch.mesh<cpu, ["x" = 2], ids = [4, 6]>

// CHECK-DAG: #host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
// CHECK-DAG: #[[MESH:mesh[0-9]*]] = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
// CHECK-DAG: #[[RING:mesh[0-9]*]] = #dtorch.mesh<cpu, ["x" = 4], ids = [3, 1, 0, 2]>
// CHECK-DAG: #[[BIG:mesh[0-9]*]] = #dtorch.mesh<cpu, ["dp" = 128, "tp" = 128], start = 16, strides = [128, 1]>
// CHECK-DAG: #[[ONE:mesh[0-9]*]] = #dtorch.mesh<cpu, [], start = 3, strides = []>
// CHECK-DAG: #[[SAME:mesh[0-9]*]] = #dtorch.mesh<cpu, ["x" = 2], start = 4, strides = [2]>
// CHECK-DAG: #S0_on_dp = #dtorch.sharding<#[[MESH]], [S(0), R]>
// CHECK-DAG: #S0_on_dp_S1_on_tp = #dtorch.sharding<#[[MESH]], [S(0), S(1)]>
// CHECK-DAG: #S1u4_on_tp = #dtorch.sharding<#[[MESH]], [R, S(1:4)]>
// CHECK-DAG: #P_on_dp_Pmax_on_tp = #dtorch.sharding<#[[MESH]], [P, P(max)]>
// CHECK-DAG: #Pmin_on_dp = #dtorch.sharding<#[[MESH]], [P(min), R]>
// CHECK-DAG: #replicated{{[0-9]*}} = #dtorch.sharding<#[[MESH]], [R, R]>
// CHECK-DAG: #replicated{{[0-9]*}} = #dtorch.sharding<#[[ONE]], []>
// CHECK-DAG: #S0_on_x{{[0-9]*}} = #dtorch.sharding<#[[RING]], [S(0)]>

// CHECK-LABEL: func private @shardings
func.func private @shardings(
  tensor<4xf32, #dtorch.sharding<#dtorch.mesh<cpu, host>, []>>,
  tensor<4x8xf32, #dtorch.sharding<#mesh, [S(0), R]>>,
  tensor<4x8xbf16, #dtorch.sharding<#mesh, [S(0), S(1)]>>,
  tensor<4x12xf16, #dtorch.sharding<#mesh, [R, S(1:4)]>>,
  tensor<4xf64, #dtorch.sharding<#mesh, [P, P(max)]>>,
  tensor<4xi64, #dtorch.sharding<#mesh, [P(min), R]>>,
  // P(sum) is P.
  // CHECK: tensor<4xi32, #P_on_dp>
  tensor<4xi32, #dtorch.sharding<#mesh, [P(sum), R]>>,
  tensor<i1, #dtorch.sharding<#mesh, [R, R]>>,
  tensor<4xf32, #dtorch.sharding<#one, []>>,
  tensor<9xf32, #dtorch.sharding<#ring, [S(0)]>>,
  tensor<500x300xf32, #dtorch.sharding<#big, [S(0), S(1)]>>,
  // An empty tensor may be sharded.
  tensor<0xf32, #dtorch.sharding<#same, [S(0)]>>)

// CHECK-LABEL: func private @local
// CHECK-SAME: tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>
// CHECK-SAME: tensor<2x8xf32, #dtorch.local<[4, 8], #S0_on_dp>>
// CHECK-SAME: tensor<?xf32, #dtorch.local<[1], #S0_on_dp>>
// CHECK-SAME: tensor<f32, #dtorch.local<[], #host>>
func.func private @local(
  tensor<?x8xf32, #dtorch.local<[3, 8], #dtorch.sharding<#mesh, [S(0), R]>>>,
  tensor<2x8xf32, #dtorch.local<[4, 8], #dtorch.sharding<#mesh, [S(0), R]>>>,
  tensor<?xf32, #dtorch.local<[1], #dtorch.sharding<#mesh, [S(0), R]>>>,
  tensor<f32, #dtorch.local<[], #dtorch.sharding<#dtorch.mesh<cpu, host>, []>>>)

// CHECK-LABEL: func private @memory
// CHECK-SAME: a = #dtorch.memory<arena 64>, b = #dtorch.memory<result 0>, c = #dtorch.memory<alias>
func.func private @memory() attributes {
  a = #dtorch.memory<arena 64>, b = #dtorch.memory<result 0>, c = #dtorch.memory<alias>}

// CHECK-LABEL: func private @types
// CHECK-SAME: !dtorch.buffer<3x8xf32, #S0_on_dp>, !dtorch.buffer<f32, #host>, !dtorch.buffer<0x4xi64, #host>, !dtorch.handle
func.func private @types(
  !dtorch.buffer<3x8xf32, #dtorch.sharding<#mesh, [S(0), R]>>,
  !dtorch.buffer<f32, #dtorch.sharding<#dtorch.mesh<cpu, host>, []>>,
  !dtorch.buffer<0x4xi64, #dtorch.sharding<#dtorch.mesh<cpu, host>, []>>,
  !dtorch.handle)
