// RUN: rm -rf %t && mkdir -p %t/a %t/b
// RUN: dtorch-run %s --random --dump=%t/a --outputs=%t/a.safetensors
// RUN: env DTORCH_ROUNDTRIP=1 dtorch-run %s --random --dump=%t/b --outputs=%t/b.safetensors
// RUN: diff -r %t/a %t/b
// RUN: cmp %t/a.safetensors %t/b.safetensors
//
// A dump is what dtorch-opt prints, and each phase leads to the next.
// RUN: dtorch-opt %t/a/1-global.mlir -mlir-print-debuginfo | diff %t/a/1-global.mlir -
// RUN: dtorch-opt %t/a/1-global.mlir -dtorch-to-placed -mlir-print-debuginfo | diff %t/a/2-placed.mlir -
// RUN: dtorch-opt %t/a/1-global.mlir -dtorch-to-local -mlir-print-debuginfo | diff %t/a/4-local.mlir -
// RUN: dtorch-opt %t/a/1-global.mlir -dtorch-to-program -mlir-print-debuginfo | diff %t/a/6-program.mlir -
//
// Every phase runs, and gives the same bits.
// RUN: dtorch-run %t/a/1-global.mlir --random --outputs=%t/1.safetensors
// RUN: dtorch-run %t/a/2-placed.mlir --random --outputs=%t/2.safetensors
// RUN: dtorch-run %t/a/4-local.mlir --random --outputs=%t/4.safetensors
// RUN: dtorch-run %t/a/6-program.mlir --random --outputs=%t/6.safetensors
// RUN: cmp %t/a.safetensors %t/1.safetensors
// RUN: cmp %t/a.safetensors %t/2.safetensors
// RUN: cmp %t/a.safetensors %t/4.safetensors
// RUN: cmp %t/a.safetensors %t/6.safetensors

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#batch = #dtorch.sharding<#mesh, [S(0), R]>
#row = #dtorch.sharding<#mesh, [R, S(1)]>

module attributes {dtorch.phase = "global"} {
  func.func @main(%x: tensor<3x5xf32, #host> {dtorch.name = "x"}, %w: tensor<8x5xf32, #row> {dtorch.name = "w", dtorch.parameter})
      -> (tensor<3x8xf32, #host> {dtorch.name = "y"}) {
    %0 = dtorch.redistribute %x : tensor<3x5xf32, #host> -> tensor<3x5xf32, #batch> loc("model.py":3:0)
    %1 = dtorch.linear %0, %w : (tensor<3x5xf32, #batch>, tensor<8x5xf32, #row>) -> tensor<3x8xf32> loc("model.py":4:0)
    %2 = dtorch.unary %1 {kind = "silu"} : (tensor<3x8xf32>) -> tensor<3x8xf32> loc("model.py":5:0)
    %3 = dtorch.redistribute %2 : tensor<3x8xf32> -> tensor<3x8xf32, #host> loc("model.py":6:0)
    return %3 : tensor<3x8xf32, #host>
  }
}
