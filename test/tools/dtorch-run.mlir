// RUN: rm -rf %t && mkdir -p %t/weights
// The tensors that the first function makes are the second one's arguments:
// weights from a folder of several files, inputs from a file.
// RUN: dtorch-run %s --entry=make_inputs --random --seed=5 --outputs=%t/inputs.safetensors
// RUN: dtorch-run %s --entry=make_weight --random --seed=6 --outputs=%t/weights/a.safetensors
// RUN: dtorch-run %s --entry=make_table --random --seed=7 --outputs=%t/weights/b.safetensors
// RUN: dtorch-run %s --entry=main --weights=%t/weights --inputs=%t/inputs.safetensors --outputs=%t/y.safetensors --print | FileCheck %s
// RUN: dtorch-run %s --entry=main --weights=%t/weights/a.safetensors,%t/weights/b.safetensors --inputs=%t/inputs.safetensors \
// RUN:   --outputs=%t/z.safetensors --devices=2
// RUN: cmp %t/y.safetensors %t/z.safetensors
//
// CHECK: flags: i1[2] [1, 1]
// CHECK: half: f16[2, 3] {{\[\[}}1, -2, 7], [-16, -7, -15]]
// CHECK: y: f32[2, 3] {{\[\[}}1, -2, 7], [-16, -7, -15]]
//
// Files are the format's: Python's library reads them.
// RUN: %python -c "import safetensors.numpy as s; t = s.load_file(r'%t/y.safetensors'); print(sorted((k, v.dtype.name, v.shape) for k, v in t.items()))" \
// RUN:   | FileCheck %s --check-prefix=PYTHON
// PYTHON: [('flags', 'bool', (2,)), ('half', 'float16', (2, 3)), ('y', 'float32', (2, 3))]

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#S0 = #dtorch.sharding<#mesh, [S(0)]>

func.func @make_inputs(%ids: tensor<2xi64> {dtorch.name = "ids"}) -> (tensor<2xi64> {dtorch.name = "ids"}) {
  return %ids : tensor<2xi64>
}
func.func @make_weight(%w: tensor<3x4xf32> {dtorch.name = "fc.weight"}) -> (tensor<3x4xf32> {dtorch.name = "fc.weight"}) {
  return %w : tensor<3x4xf32>
}
func.func @make_table(%t: tensor<5x4xf32> {dtorch.name = "table"}) -> (tensor<5x4xf32> {dtorch.name = "table"}) {
  return %t : tensor<5x4xf32>
}
func.func @main(%ids: tensor<2xi64, #host> {dtorch.name = "ids"}, %w: tensor<3x4xf32, #S0> {dtorch.name = "fc.weight", dtorch.parameter},
                %t: tensor<5x4xf32, #S0> {dtorch.name = "table", dtorch.parameter})
    -> (tensor<2x3xf32, #host> {dtorch.name = "y"}, tensor<2x3xf16, #host> {dtorch.name = "half"}, tensor<2xi1, #host> {dtorch.name = "flags"}) {
  %0 = dtorch.embedding %t, %ids : (tensor<5x4xf32, #S0>, tensor<2xi64, #host>) -> tensor<2x4xf32>
  %1 = dtorch.linear %0, %w : (tensor<2x4xf32>, tensor<3x4xf32, #S0>) -> tensor<2x3xf32>
  %2 = dtorch.redistribute %1 : tensor<2x3xf32> -> tensor<2x3xf32, #host>
  %3 = dtorch.cast %2 {dtype = "float16"} : (tensor<2x3xf32, #host>) -> tensor<2x3xf16, #host>
  %4 = dtorch.binary %ids, %ids {kind = "eq"} : (tensor<2xi64, #host>, tensor<2xi64, #host>) -> tensor<2xi1, #host>
  return %2, %3, %4 : tensor<2x3xf32, #host>, tensor<2x3xf16, #host>, tensor<2xi1, #host>
}
