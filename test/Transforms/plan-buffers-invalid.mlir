// RUN: dtorch-opt %s -split-input-file -dtorch-plan-buffers -verify-diagnostics

// expected-error @+1 {{function @external: must have a body of one block}}
func.func private @external(tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @+1 {{function @f: must not call itself}}
func.func private @f() {
  func.call @g() : () -> ()
  return
}
func.func private @g() {
  func.call @f() : () -> ()
  return
}

// -----

func.func @unplaced(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{unary: tensors must be local, got 'tensor<4xf32>'; run dtorch-convert-global-to-local}}
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
