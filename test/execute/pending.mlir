// RUN: dtorch-run %s --compare | FileCheck %s
// CHECK: compared 6 outputs: max difference 0
//
// Pending values that differ from device to device: sums pass linear ops, a
// number is added once, others are reduced first; maxima stay maxima.

#mesh = #dtorch.mesh<cpu, ["x" = 3], start = 0, strides = [1]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
#S1 = #dtorch.sharding<#mesh, [S(1)]>
#P = #dtorch.sharding<#mesh, [P]>

func.func @sharded(%a: tensor<2x7xf32, #S1> {dtorch.name = "a"}, %b: tensor<7x4xf32, #S0> {dtorch.name = "b"},
                   %bias: tensor<4xf32, #P> {dtorch.name = "bias"}, %s: tensor<f32, #host> {dtorch.name = "s"})
    -> (tensor<2x4xf32, #host> {dtorch.name = "sum"}, tensor<2x4xf32> {dtorch.name = "scaled"}, tensor<2x4xf32> {dtorch.name = "shifted"},
        tensor<2x4xf32> {dtorch.name = "relu"}, tensor<4xf32, #host> {dtorch.name = "max"}, tensor<f32, #host> {dtorch.name = "total"}) {
  // Each device has another summand of the product.
  %0 = dtorch.matmul %a, %b : (tensor<2x7xf32, #S1>, tensor<7x4xf32, #S0>) -> tensor<2x4xf32>
  %1 = dtorch.binary %0, %bias {kind = "add"} : (tensor<2x4xf32>, tensor<4xf32, #P>) -> tensor<2x4xf32>
  %2 = dtorch.binary %1, %s {kind = "mul"} : (tensor<2x4xf32>, tensor<f32, #host>) -> tensor<2x4xf32>
  %3 = dtorch.binary %1, %s {kind = "add"} : (tensor<2x4xf32>, tensor<f32, #host>) -> tensor<2x4xf32>
  %4 = dtorch.unary %1 {kind = "relu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = dtorch.reduce %b {kind = "amax", dims = array<i64: 0>, keepdim = false} : (tensor<7x4xf32, #S0>) -> tensor<4xf32>
  %6 = dtorch.reduce %1 {kind = "sum", dims = array<i64: 0, 1>, keepdim = false} : (tensor<2x4xf32>) -> tensor<f32>
  %7 = dtorch.redistribute %1 : tensor<2x4xf32> -> tensor<2x4xf32, #host>
  %8 = dtorch.redistribute %5 : tensor<4xf32> -> tensor<4xf32, #host>
  %9 = dtorch.redistribute %6 : tensor<f32> -> tensor<f32, #host>
  return %7, %2, %3, %4, %8, %9 : tensor<2x4xf32, #host>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32, #host>, tensor<f32, #host>
}

func.func @single(%a: tensor<2x7xf32> {dtorch.name = "a"}, %b: tensor<7x4xf32> {dtorch.name = "b"},
                  %bias: tensor<4xf32> {dtorch.name = "bias"}, %s: tensor<f32> {dtorch.name = "s"})
    -> (tensor<2x4xf32> {dtorch.name = "sum"}, tensor<2x4xf32> {dtorch.name = "scaled"}, tensor<2x4xf32> {dtorch.name = "shifted"},
        tensor<2x4xf32> {dtorch.name = "relu"}, tensor<4xf32> {dtorch.name = "max"}, tensor<f32> {dtorch.name = "total"}) {
  %0 = dtorch.matmul %a, %b : (tensor<2x7xf32>, tensor<7x4xf32>) -> tensor<2x4xf32>
  %1 = dtorch.binary %0, %bias {kind = "add"} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = dtorch.binary %1, %s {kind = "mul"} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = dtorch.binary %1, %s {kind = "add"} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %4 = dtorch.unary %1 {kind = "relu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = dtorch.reduce %b {kind = "amax", dims = array<i64: 0>, keepdim = false} : (tensor<7x4xf32>) -> tensor<4xf32>
  %6 = dtorch.reduce %1 {kind = "sum", dims = array<i64: 0, 1>, keepdim = false} : (tensor<2x4xf32>) -> tensor<f32>
  return %1, %2, %3, %4, %5, %6 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<f32>
}
