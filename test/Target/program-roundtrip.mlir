// RUN: dtorch-opt %s -dtorch-to-program > %t.module
// RUN: dtorch-run %s --print-program | dtorch-opt > %t.translated
// RUN: diff %t.module %t.translated
// RUN: dtorch-run %s --print-program > %t.again
// RUN: dtorch-run %t.again --print-program | diff %t.again -
// RUN: FileCheck %s --input-file=%t.again
//
// Program ops to the runtime's Program and back lose nothing: kinds of buffers
// and instructions, names, parameters, every kind of attribute, module paths,
// locations (file and line).

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#ids = #dtorch.mesh<cpu, ["x" = 3], ids = [5, 1, 4]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#S0 = #dtorch.sharding<#mesh, [S(0), R]>
#W = #dtorch.sharding<#mesh, [R, S(1:4)]>
#X = #dtorch.sharding<#ids, [S(0)]>

// CHECK: module attributes {dtorch.phase = "program"}
// CHECK: dtorch.program_func private @layer arena
// CHECK: dtorch.launch "slice" {{.*}} {starts = array<i64: 0, 1>, steps = array<i64: 1, 2>, stops = array<i64: 3, 7>} loc(#[[SLICE:.*]])
func.func private @layer(%x: tensor<3x12xf32, #S0>, %w: tensor<5x12xf32, #W>) -> tensor<3x5xf32> {
  %0 = dtorch.linear %x, %w : (tensor<3x12xf32, #S0>, tensor<5x12xf32, #W>) -> tensor<3x5xf32>
  %1 = dtorch.slice %x {starts = array<i64: 0, 1>, stops = array<i64: 3, 7>, steps = array<i64: 1, 2>} : (tensor<3x12xf32, #S0>) -> tensor<3x3xf32> loc("model.py":17:0)
  %2 = dtorch.reduce %1 {dims = array<i64: 1>, keepdim = true, kind = "sum"} : (tensor<3x3xf32>) -> tensor<3x1xf32>
  %3 = dtorch.binary %0, %2 {kind = "add"} : (tensor<3x5xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
  return %3 : tensor<3x5xf32>
}
// CHECK: dtorch.program_func @main arena
// CHECK: dtorch.buffer argument 1 "fc.weight" parameter
// CHECK: dtorch.buffer alias
// CHECK: dtorch.invoke @layer {{.*}} {dtorch.module = "model.layers.0"}
// CHECK: dtorch.copy
func.func @main(%x: tensor<3x12xf32, #host> {dtorch.name = "x"}, %w: tensor<5x12xf32, #W> {dtorch.name = "fc.weight", dtorch.parameter},
                %z: tensor<4xf32, #X> {dtorch.name = "z"})
    -> (tensor<15xf32, #host> {dtorch.name = "y"}, tensor<4xf32, #X> {dtorch.name = "same"}) {
  %0 = dtorch.redistribute %x : tensor<3x12xf32, #host> -> tensor<3x12xf32, #S0>
  %1 = func.call @layer(%0, %w) {dtorch.module = "model.layers.0"} : (tensor<3x12xf32, #S0>, tensor<5x12xf32, #W>) -> tensor<3x5xf32>
  %2 = dtorch.redistribute %1 : tensor<3x5xf32> -> tensor<3x5xf32, #host>
  %3 = dtorch.view %2 {shape = array<i64: 15>} : (tensor<3x5xf32, #host>) -> tensor<15xf32, #host>
  return %3, %z : tensor<15xf32, #host>, tensor<4xf32, #X>
}
// CHECK: #[[SLICE]] = loc("model.py":17:0)
