// RUN: dtorch-run %s --compare --counters | FileCheck %s
// RUN: dtorch-run %s --compare --normal --seed=7 --rtol=1e-5 --atol=1e-4 | FileCheck %s --check-prefix=NORMAL
// RUN: env DTORCH_TEST_JITTER=1 dtorch-run %s --compare --seed=3 | FileCheck %s --check-prefix=JITTER
//
// The MLP of test/Transforms/mlp-phases.mlir against the same one on the host:
// batch 3 on dp = 2, 5 hidden units on tp = 2. Whole numbers, so sums are exact.

// One all-reduce a layer, one gather at the exit, nothing else.
// CHECK: compared 1 outputs: max difference 0
// CHECK-NEXT: all_reduce: 2 (
// CHECK-NEXT: to_host: 1 (96 bytes)
// CHECK-NOT: :
// NORMAL: compared 1 outputs: max difference
// JITTER: compared 1 outputs: max difference 0

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#batch = #dtorch.sharding<#mesh, [S(0), R]>
#column = #dtorch.sharding<#mesh, [R, S(0)]>
#row = #dtorch.sharding<#mesh, [R, S(1)]>

func.func private @layer(%x: tensor<3x8xf32>, %w1: tensor<5x8xf32, #column>, %w2: tensor<8x5xf32, #row>) -> tensor<3x8xf32, #batch> {
  %0 = dtorch.linear %x, %w1 : (tensor<3x8xf32>, tensor<5x8xf32, #column>) -> tensor<3x5xf32>
  %1 = dtorch.unary %0 {kind = "relu"} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = dtorch.linear %1, %w2 : (tensor<3x5xf32>, tensor<8x5xf32, #row>) -> tensor<3x8xf32>
  %3 = dtorch.redistribute %2 : tensor<3x8xf32> -> tensor<3x8xf32, #batch>
  return %3 : tensor<3x8xf32, #batch>
}
func.func @sharded(%x: tensor<3x8xf32, #host> {dtorch.name = "x"},
                   %w1: tensor<5x8xf32, #column> {dtorch.name = "w1"}, %w2: tensor<8x5xf32, #row> {dtorch.name = "w2"},
                   %w3: tensor<5x8xf32, #column> {dtorch.name = "w3"}, %w4: tensor<8x5xf32, #row> {dtorch.name = "w4"})
    -> (tensor<3x8xf32, #host> {dtorch.name = "y"}) {
  %0 = dtorch.redistribute %x : tensor<3x8xf32, #host> -> tensor<3x8xf32, #batch>
  %1 = builtin.unrealized_conversion_cast %0 : tensor<3x8xf32, #batch> to tensor<3x8xf32>
  %2 = func.call @layer(%1, %w1, %w2) : (tensor<3x8xf32>, tensor<5x8xf32, #column>, tensor<8x5xf32, #row>) -> tensor<3x8xf32, #batch>
  %3 = builtin.unrealized_conversion_cast %2 : tensor<3x8xf32, #batch> to tensor<3x8xf32>
  %4 = func.call @layer(%3, %w3, %w4) : (tensor<3x8xf32>, tensor<5x8xf32, #column>, tensor<8x5xf32, #row>) -> tensor<3x8xf32, #batch>
  %5 = dtorch.redistribute %4 : tensor<3x8xf32, #batch> -> tensor<3x8xf32, #host>
  return %5 : tensor<3x8xf32, #host>
}

func.func private @layer_single(%x: tensor<3x8xf32>, %w1: tensor<5x8xf32>, %w2: tensor<8x5xf32>) -> tensor<3x8xf32> {
  %0 = dtorch.linear %x, %w1 : (tensor<3x8xf32>, tensor<5x8xf32>) -> tensor<3x5xf32>
  %1 = dtorch.unary %0 {kind = "relu"} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = dtorch.linear %1, %w2 : (tensor<3x5xf32>, tensor<8x5xf32>) -> tensor<3x8xf32>
  return %2 : tensor<3x8xf32>
}
func.func @single(%x: tensor<3x8xf32> {dtorch.name = "x"},
                  %w1: tensor<5x8xf32> {dtorch.name = "w1"}, %w2: tensor<8x5xf32> {dtorch.name = "w2"},
                  %w3: tensor<5x8xf32> {dtorch.name = "w3"}, %w4: tensor<8x5xf32> {dtorch.name = "w4"})
    -> (tensor<3x8xf32> {dtorch.name = "y"}) {
  %0 = func.call @layer_single(%x, %w1, %w2) : (tensor<3x8xf32>, tensor<5x8xf32>, tensor<8x5xf32>) -> tensor<3x8xf32>
  %1 = func.call @layer_single(%0, %w3, %w4) : (tensor<3x8xf32>, tensor<5x8xf32>, tensor<8x5xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}
