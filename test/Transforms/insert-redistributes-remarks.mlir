// RUN: dtorch-opt %s -dtorch-to-placed -verify-diagnostics

#mesh = #dtorch.mesh<cpu, ["tp" = 2], start = 0, strides = [1]>
#S1 = #dtorch.sharding<#mesh, [S(1)]>
#R = #dtorch.sharding<#mesh, [R]>
#S0 = #dtorch.sharding<#mesh, [S(0)]>

func.func @main(%x: tensor<8x4xf32, #S1>, %y: tensor<8x4xf32, #R>, %z: tensor<8x4xf32, #S0>) {
  // Half of each device's new half comes from the other one: 8 elements.
  // expected-remark @+1 {{softmax: held input [S(1)]; needed input [S(0)]; inserted all_to_all of operand 0, 32 bytes at the busiest device}}
  %0 = dtorch.softmax %x {dim = 1 : i64} : (tensor<8x4xf32, #S1>) -> tensor<8x4xf32>
  // A change without communication is not worth a remark.
  %1 = dtorch.binary %y, %z {kind = "add"} : (tensor<8x4xf32, #R>, tensor<8x4xf32, #S0>) -> tensor<8x4xf32>
  return
}
