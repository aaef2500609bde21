// RUN: dtorch-run %s --random --max-int=0 | FileCheck %s --check-prefix=ADD
// RUN: sed -e 's/kind = "add"/kind = "mul"/' %s | dtorch-run - --random --max-int=0 | FileCheck %s --check-prefix=MUL
// RUN: sed -e 's/starts = array<i64: 1>/starts = array<i64: 2>/' -e 's/stops = array<i64: 3>/stops = array<i64: 4>/' %s \
// RUN:   | dtorch-run - --random --max-int=0 | FileCheck %s --check-prefix=SLICE
// RUN: sed -e 's/stops = array<i64: 3>/stops = array<i64: 4>/' %s \
// RUN:   | not dtorch-run - --random --max-int=0 2>&1 | FileCheck %s --check-prefix=WRONG
//
// What is printed is what runs: another op, or another constant, gives another
// result; an edit that makes no sense is an error.

// ADD: y: f32[2] [2, 4]
// MUL: y: f32[2] [1, 4]
// SLICE: y: f32[2] [4, 6]
// WRONG: dtorch-run: -:33: error: launch: slice gives f32[3], but the output is f32[2]
// WRONG-NOT: {{.}}

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
module attributes {dtorch.phase = "program"} {
  // 0, and exp(0) = 1, give 0, 1, 2, 3; of these 1, 2.
  dtorch.program_func @main arena 256 {
    %zero = dtorch.buffer argument 0 "zero" : !dtorch.buffer<f64, #host>
    %y = dtorch.buffer result 0 "y" : !dtorch.buffer<2xf32, #host>
    %start = dtorch.buffer arena 0 : !dtorch.buffer<f64, #R>
    %step = dtorch.buffer arena 64 : !dtorch.buffer<f64, #R>
    %range = dtorch.buffer arena 128 : !dtorch.buffer<4xf32, #R>
    %part = dtorch.buffer arena 192 : !dtorch.buffer<2xf32, #R>
    %sum = dtorch.buffer arena 0 : !dtorch.buffer<2xf32, #R>
    dtorch.communicate "from_host" (%zero) -> (%start)
    dtorch.launch "unary" (%start) -> (%step) {kind = "exp"}
    dtorch.launch "arange" (%start, %step) -> (%range) {dtype = "float32", size = 4 : i64}
    dtorch.launch "slice" (%range) -> (%part) {starts = array<i64: 1>, steps = array<i64: 1>, stops = array<i64: 3>}
    dtorch.launch "binary" (%part, %part) -> (%sum) {kind = "add"}
    dtorch.communicate "to_host" (%sum) -> (%y)
  }
}
