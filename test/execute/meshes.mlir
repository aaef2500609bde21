// RUN: dtorch-run %s --compare=single,transposed | FileCheck %s
// RUN: dtorch-run %s --compare=single,irregular | FileCheck %s
// RUN: dtorch-run %s --compare=single,size_one --counters | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: dtorch-run %s --compare=single,one_device --counters | FileCheck %s --check-prefixes=CHECK,ONE
// CHECK: compared 1 outputs: max difference 0
// Axes of size 1 communicate nothing but the gather at the end.
// ONE-NEXT: to_host: 1
// ONE-NOT: :
//
// The same sum of products on meshes of other shapes and device orders.

#transposed = #dtorch.mesh<cpu, ["tp" = 2, "dp" = 3], start = 1, strides = [1, 2]>
#irregular = #dtorch.mesh<cpu, ["tp" = 2, "dp" = 3], ids = [5, 0, 7, 2, 1, 6]>
#size_one = #dtorch.mesh<cpu, ["tp" = 1, "dp" = 1], start = 3, strides = [1, 1]>
#device = #dtorch.mesh<cpu, [], start = 2, strides = []>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>

func.func @transposed(%x: tensor<4x7xf32, #dtorch.sharding<#transposed, [S(1), S(0)]>> {dtorch.name = "x"},
                      %w: tensor<5x7xf32, #dtorch.sharding<#transposed, [S(1), R]>> {dtorch.name = "w"}) -> (tensor<4x5xf32, #host> {dtorch.name = "y"}) {
  %0 = dtorch.linear %x, %w : (tensor<4x7xf32, #dtorch.sharding<#transposed, [S(1), S(0)]>>, tensor<5x7xf32, #dtorch.sharding<#transposed, [S(1), R]>>) -> tensor<4x5xf32>
  %1 = dtorch.unary %0 {kind = "abs"} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %2 = dtorch.redistribute %1 : tensor<4x5xf32> -> tensor<4x5xf32, #host>
  return %2 : tensor<4x5xf32, #host>
}
func.func @irregular(%x: tensor<4x7xf32, #dtorch.sharding<#irregular, [S(1), S(0)]>> {dtorch.name = "x"},
                     %w: tensor<5x7xf32, #dtorch.sharding<#irregular, [S(1), R]>> {dtorch.name = "w"}) -> (tensor<4x5xf32, #host> {dtorch.name = "y"}) {
  %0 = dtorch.linear %x, %w : (tensor<4x7xf32, #dtorch.sharding<#irregular, [S(1), S(0)]>>, tensor<5x7xf32, #dtorch.sharding<#irregular, [S(1), R]>>) -> tensor<4x5xf32>
  %1 = dtorch.unary %0 {kind = "abs"} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %2 = dtorch.redistribute %1 : tensor<4x5xf32> -> tensor<4x5xf32, #host>
  return %2 : tensor<4x5xf32, #host>
}
func.func @size_one(%x: tensor<4x7xf32, #dtorch.sharding<#size_one, [S(1), S(0)]>> {dtorch.name = "x"},
                    %w: tensor<5x7xf32, #dtorch.sharding<#size_one, [S(1), P]>> {dtorch.name = "w"}) -> (tensor<4x5xf32, #host> {dtorch.name = "y"}) {
  %0 = dtorch.linear %x, %w : (tensor<4x7xf32, #dtorch.sharding<#size_one, [S(1), S(0)]>>, tensor<5x7xf32, #dtorch.sharding<#size_one, [S(1), P]>>) -> tensor<4x5xf32>
  %1 = dtorch.unary %0 {kind = "abs"} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %2 = dtorch.redistribute %1 : tensor<4x5xf32> -> tensor<4x5xf32, #host>
  return %2 : tensor<4x5xf32, #host>
}
func.func @one_device(%x: tensor<4x7xf32, #dtorch.sharding<#device, []>> {dtorch.name = "x"}, %w: tensor<5x7xf32, #host> {dtorch.name = "w"})
    -> (tensor<4x5xf32, #host> {dtorch.name = "y"}) {
  %0 = dtorch.linear %x, %w : (tensor<4x7xf32, #dtorch.sharding<#device, []>>, tensor<5x7xf32, #host>) -> tensor<4x5xf32>
  %1 = dtorch.unary %0 {kind = "abs"} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %2 = dtorch.redistribute %1 : tensor<4x5xf32> -> tensor<4x5xf32, #host>
  return %2 : tensor<4x5xf32, #host>
}
func.func @single(%x: tensor<4x7xf32> {dtorch.name = "x"}, %w: tensor<5x7xf32> {dtorch.name = "w"}) -> (tensor<4x5xf32> {dtorch.name = "y"}) {
  %0 = dtorch.linear %x, %w : (tensor<4x7xf32>, tensor<5x7xf32>) -> tensor<4x5xf32>
  %1 = dtorch.unary %0 {kind = "abs"} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}
