// RUN: dtorch-opt %s -split-input-file -dtorch-lower-redistributes -verify-diagnostics

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#other = #dtorch.mesh<cpu, ["x" = 2], start = 2, strides = [1]>
#A = #dtorch.sharding<#mesh, [R]>
#B = #dtorch.sharding<#other, [R]>
func.func @meshes(%x: tensor<4xf32, #A>) {
  // expected-error @+1 {{redistribute: from mesh<cpu, ["x" = 2], start = 0, strides = [1]> to mesh<cpu, ["x" = 2], start = 2, strides = [1]> is not available yet}}
  %0 = dtorch.redistribute %x : tensor<4xf32, #A> -> tensor<4xf32, #B>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @unplaced(%x: tensor<4xf32>) {
  // expected-error @+1 {{redistribute: operand must have a sharding; run dtorch-infer-placements}}
  %0 = dtorch.redistribute %x : tensor<4xf32> -> tensor<4xf32, #R>
  return
}

// -----

// A running maximum cannot be made from a plain value.
#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
#M = #dtorch.sharding<#mesh, [P(max)]>
func.func @maximum(%x: tensor<4xf32, #R>) {
  // expected-error-re @+1 {{{{.*}}P(max){{.*}}}}
  %0 = dtorch.redistribute %x : tensor<4xf32, #R> -> tensor<4xf32, #M>
  return
}
