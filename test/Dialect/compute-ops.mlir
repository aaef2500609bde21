// RUN: dtorch-opt %s | dtorch-opt | FileCheck %s
// RUN: dtorch-opt %s -mlir-print-op-generic | dtorch-opt | FileCheck %s
// One call of each compute op, without placements, as recording writes them.

// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: tensor<4x8xf32>, %i: tensor<4x8xi64>, %s: tensor<f32>) {
  // CHECK: dtorch.unary %{{.*}} {kind = "neg"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // A function of an integer tensor is floating.
  // CHECK: dtorch.unary %{{.*}} {kind = "exp"} : (tensor<4x8xi64>) -> tensor<4x8xf32>
  %1 = dtorch.unary %i {kind = "exp"} : (tensor<4x8xi64>) -> tensor<4x8xf32>
  // CHECK: dtorch.binary %{{.*}}, %{{.*}} {kind = "mul"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = dtorch.binary %x, %s {kind = "mul"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: dtorch.binary %{{.*}}, %{{.*}} {kind = "lt"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %3 = dtorch.binary %x, %x {kind = "lt"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: dtorch.cast %{{.*}} {dtype = "bfloat16"} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %4 = dtorch.cast %x {dtype = "bfloat16"} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  // CHECK: dtorch.unary %{{.*}} {kind = "isnan"} : (tensor<4x8xf32>) -> tensor<4x8xi1>
  %5 = dtorch.unary %x {kind = "isnan"} : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: dtorch.binary %{{.*}}, %{{.*}} {kind = "floor_divide"} : (tensor<4x8xi64>, tensor<4x8xi64>) -> tensor<4x8xi64>
  %6 = dtorch.binary %i, %i {kind = "floor_divide"} : (tensor<4x8xi64>, tensor<4x8xi64>) -> tensor<4x8xi64>
  // CHECK: dtorch.where %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %7 = dtorch.where %5, %x, %s : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func @contractions
func.func @contractions(%a: tensor<2x4x8xf32>, %b: tensor<8x5xf32>, %w: tensor<5x8xf32>,
                        %table: tensor<9x6xf32>, %ids: tensor<2x3xi64>) {
  // CHECK: dtorch.matmul %{{.*}}, %{{.*}} : (tensor<2x4x8xf32>, tensor<8x5xf32>) -> tensor<2x4x5xf32>
  %0 = dtorch.matmul %a, %b : (tensor<2x4x8xf32>, tensor<8x5xf32>) -> tensor<2x4x5xf32>
  // CHECK: dtorch.linear %{{.*}}, %{{.*}} : (tensor<2x4x8xf32>, tensor<5x8xf32>) -> tensor<2x4x5xf32>
  %1 = dtorch.linear %a, %w : (tensor<2x4x8xf32>, tensor<5x8xf32>) -> tensor<2x4x5xf32>
  // CHECK: dtorch.embedding %{{.*}}, %{{.*}} : (tensor<9x6xf32>, tensor<2x3xi64>) -> tensor<2x3x6xf32>
  %2 = dtorch.embedding %table, %ids : (tensor<9x6xf32>, tensor<2x3xi64>) -> tensor<2x3x6xf32>
  return
}

// CHECK-LABEL: func @rows
func.func @rows(%x: tensor<4x8xf32>, %eps: tensor<f32>) {
  // CHECK: dtorch.softmax %{{.*}} {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = dtorch.softmax %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: dtorch.rms_norm %{{.*}}, %{{.*}} {dims = array<i64: 1>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = dtorch.rms_norm %x, %eps {dims = array<i64: 1>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: dtorch.reduce %{{.*}} {dims = array<i64: 0>, keepdim = false, kind = "amax"} : (tensor<4x8xf32>) -> tensor<8xf32>
  %2 = dtorch.reduce %x {dims = array<i64: 0>, keepdim = false, kind = "amax"} : (tensor<4x8xf32>) -> tensor<8xf32>
  // CHECK: dtorch.reduce %{{.*}} {dims = array<i64: 1>, keepdim = true, kind = "sum"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %3 = dtorch.reduce %x {dims = array<i64: 1>, keepdim = true, kind = "sum"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // CHECK: dtorch.log_softmax %{{.*}} {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = dtorch.log_softmax %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: dtorch.layer_norm %{{.*}}, %{{.*}} {dims = array<i64: 0, 1>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %5 = dtorch.layer_norm %x, %eps {dims = array<i64: 0, 1>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: dtorch.reduce %{{.*}} {dims = array<i64: 0>, keepdim = false, kind = "any"} : (tensor<4x8xf32>) -> tensor<8xi1>
  %6 = dtorch.reduce %x {dims = array<i64: 0>, keepdim = false, kind = "any"} : (tensor<4x8xf32>) -> tensor<8xi1>
  // CHECK: dtorch.arg_reduce %{{.*}} {dim = 1 : i64, kind = "argmax"} : (tensor<4x8xf32>) -> tensor<4xi64>
  %7 = dtorch.arg_reduce %x {dim = 1 : i64, kind = "argmax"} : (tensor<4x8xf32>) -> tensor<4xi64>
  // CHECK: dtorch.cumsum %{{.*}} {dim = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = dtorch.cumsum %x {dim = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: dtorch.sort_indices %{{.*}} {descending = true, dim = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xi64>
  %9 = dtorch.sort_indices %x {dim = 0 : i64, descending = true} : (tensor<4x8xf32>) -> tensor<4x8xi64>
  return
}

// CHECK-LABEL: func @indices
func.func @indices(%x: tensor<4x8xf32>, %i: tensor<4x3xi64>, %j: tensor<5xi32>, %y: tensor<4x3xf32>) {
  // CHECK: dtorch.gather %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  %0 = dtorch.gather %x, %i {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  // CHECK: dtorch.index_select %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<4x8xf32>, tensor<5xi32>) -> tensor<4x5xf32>
  %1 = dtorch.index_select %x, %j {dim = 1 : i64} : (tensor<4x8xf32>, tensor<5xi32>) -> tensor<4x5xf32>
  // CHECK: dtorch.scatter %{{.*}}, %{{.*}}, %{{.*}} {dim = 1 : i64, reduce = "add"} : (tensor<4x8xf32>, tensor<4x3xi64>, tensor<4x3xf32>) -> tensor<4x8xf32>
  %2 = dtorch.scatter %x, %i, %y {dim = 1 : i64, reduce = "add"} : (tensor<4x8xf32>, tensor<4x3xi64>, tensor<4x3xf32>) -> tensor<4x8xf32>
  // CHECK: dtorch.slice_update %{{.*}}, %{{.*}} {starts = array<i64: 0, 1>, steps = array<i64: 1, 2>, stops = array<i64: 4, 7>} : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x8xf32>
  %3 = dtorch.slice_update %x, %y {starts = array<i64: 0, 1>, stops = array<i64: 4, 7>, steps = array<i64: 1, 2>}
    : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<1x4x5x8xf32>, %kv: tensor<1x2x5x8xf32>, %scale: tensor<f32>,
                     %mask: tensor<5x5xi1>) {
  // CHECK: dtorch.sdpa %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {is_causal = true} : (tensor<1x4x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<f32>) -> tensor<1x4x5x8xf32>
  %0 = dtorch.sdpa %q, %kv, %kv, %scale {is_causal = true}
    : (tensor<1x4x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<f32>) -> tensor<1x4x5x8xf32>
  // CHECK: dtorch.sdpa %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {is_causal = false}
  %1 = dtorch.sdpa %q, %kv, %kv, %scale, %mask {is_causal = false}
    : (tensor<1x4x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<f32>, tensor<5x5xi1>) -> tensor<1x4x5x8xf32>
  return
}

// CHECK-LABEL: func @shapes
func.func @shapes(%x: tensor<4x6xf32>, %value: tensor<f32>) {
  // CHECK: dtorch.view %{{.*}} {shape = array<i64: 4, 2, 3>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %0 = dtorch.view %x {shape = array<i64: 4, 2, 3>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  // CHECK: dtorch.permute %{{.*}} {dims = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = dtorch.permute %x {dims = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK: dtorch.expand %{{.*}} {shape = array<i64: 3, 4, 6>} : (tensor<4x6xf32>) -> tensor<3x4x6xf32>
  %2 = dtorch.expand %x {shape = array<i64: 3, 4, 6>} : (tensor<4x6xf32>) -> tensor<3x4x6xf32>
  // CHECK: dtorch.slice %{{.*}} {starts = array<i64: 0, 1>, steps = array<i64: 1, 2>, stops = array<i64: 4, 6>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %3 = dtorch.slice %x {starts = array<i64: 0, 1>, stops = array<i64: 4, 6>, steps = array<i64: 1, 2>}
    : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: dtorch.cat %{{.*}}, %{{.*}}, %{{.*}} {dim = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<12x6xf32>
  %4 = dtorch.cat %x, %x, %x {dim = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<12x6xf32>
  // CHECK: dtorch.pad %{{.*}}, %{{.*}} {after = array<i64: 0, 2>, before = array<i64: 0, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x9xf32>
  %5 = dtorch.pad %x, %value {before = array<i64: 0, 1>, after = array<i64: 0, 2>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x9xf32>
  // CHECK: dtorch.flip %{{.*}} {dims = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %6 = dtorch.flip %x {dims = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: dtorch.tril_triu %{{.*}} {diagonal = -1 : i64, kind = "tril"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = dtorch.tril_triu %x {kind = "tril", diagonal = -1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func @factories
func.func @factories(%i: tensor<i64>, %f: tensor<f32>) {
  // CHECK: dtorch.arange %{{.*}}, %{{.*}} {dtype = "float32", size = 7 : i64} : (tensor<i64>, tensor<i64>) -> tensor<7xf32>
  %0 = dtorch.arange %i, %i {size = 7 : i64, dtype = "float32"} : (tensor<i64>, tensor<i64>) -> tensor<7xf32>
  // CHECK: dtorch.full %{{.*}} {dtype = "float32", shape = array<i64: 2, 3>} : (tensor<f32>) -> tensor<2x3xf32>
  %1 = dtorch.full %f {shape = array<i64: 2, 3>, dtype = "float32"} : (tensor<f32>) -> tensor<2x3xf32>
  // CHECK: dtorch.random %{{.*}}, %{{.*}} {dtype = "float32", kind = "normal", shape = array<i64: 2, 3>} : (tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  %2 = dtorch.random %i, %i {kind = "normal", shape = array<i64: 2, 3>, dtype = "float32"} : (tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: dtorch.randint %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {dtype = "int32", shape = array<i64: 2, 3>} : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
  %3 = dtorch.randint %i, %i, %i, %i {shape = array<i64: 2, 3>, dtype = "int32"} : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
  return
}

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>

// The same op with placements, and on one device's part.
// CHECK-LABEL: func @phases
func.func @phases(%x: tensor<3x8xf32, #S0>, %y: tensor<?x8xf32, #dtorch.local<[3, 8], #S0>>) {
  // CHECK: dtorch.unary %{{.*}} : (tensor<3x8xf32, #S0_on_dp>) -> tensor<3x8xf32, #S0_on_dp>
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<3x8xf32, #S0>) -> tensor<3x8xf32, #S0>
  // CHECK: dtorch.unary %{{.*}} : (tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>) -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>
  %1 = dtorch.unary %y {kind = "exp"}
    : (tensor<?x8xf32, #dtorch.local<[3, 8], #S0>>) -> tensor<?x8xf32, #dtorch.local<[3, 8], #S0>>
  return
}
