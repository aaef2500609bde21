// RUN: dtorch-opt %s -split-input-file -verify-diagnostics
// The verifier of compute ops asks the op table; the table's own messages are
// tested with it.

func.func @kind(%x: tensor<4xf32>) {
  // expected-error @+1 {{unary}}
  %0 = dtorch.unary %x {kind = "nope"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @shapes(%x: tensor<2x3xf32>, %w: tensor<5x4xf32>) {
  // expected-error @+1 {{linear}}
  %0 = dtorch.linear %x, %w : (tensor<2x3xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @result_shape(%x: tensor<2x3xf32>, %w: tensor<5x3xf32>) {
  // expected-error @+1 {{linear: result must be f32[2, 5], got f32[2, 3]}}
  %0 = dtorch.linear %x, %w : (tensor<2x3xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @result_dtype(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{binary: result must be i1[2, 3], got f32[2, 3]}}
  %0 = dtorch.binary %x, %x {kind = "lt"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dtypes(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error @+1 {{add: lhs and rhs must have one dtype, got float32 and float64}}
  %0 = dtorch.binary %x, %y {kind = "add"} : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @element(%x: tensor<2xi8>) {
  // expected-error @+1 {{tensor: element type must be i1, i32, i64, f16, bf16, f32 or f64, got i8}}
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<2xi8>) -> tensor<2xi8>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{tensor: global sizes must be known, got tensor<?xf32>}}
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @attribute(%x: tensor<2xf32>) {
  // expected-error @+1 {{'dtorch.unary' op requires attribute 'kind'}}
  %0 = dtorch.unary %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>
func.func @phases(%x: tensor<?x8xf32, #dtorch.local<[3, 8], #S0>>) {
  // expected-error @+1 {{unary: operands and result must all be local or all be global}}
  %0 = dtorch.unary %x {kind = "exp"} : (tensor<?x8xf32, #dtorch.local<[3, 8], #S0>>) -> tensor<3x8xf32, #S0>
  return
}
