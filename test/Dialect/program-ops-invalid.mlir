// RUN: dtorch-opt %s -split-input-file -verify-diagnostics

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @kind arena 0 {
  // expected-error @+1 {{buffer: kind must be argument, result, arena or alias, got heap}}
  %0 = dtorch.buffer heap 0 : !dtorch.buffer<4xf32, #host>
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @negative arena 0 {
  // expected-error @+1 {{buffer: argument must be >= 0, got -1}}
  %0 = dtorch.buffer argument -1 : !dtorch.buffer<4xf32, #host>
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @alignment arena 128 {
  // expected-error @+1 {{buffer: arena offset must be a multiple of 64, got 16}}
  %0 = dtorch.buffer arena 16 : !dtorch.buffer<4xf32, #host>
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @source arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  // expected-error @+1 {{buffer: an alias, and nothing else, has a source}}
  %1 = "dtorch.buffer"(%0) <{kind = "arena", holds = !dtorch.buffer<4xf32, #host>}> : (!dtorch.handle) -> !dtorch.handle
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @parameter arena 64 {
  // expected-error @+1 {{buffer: only an argument can be a parameter}}
  %0 = dtorch.buffer arena 0 parameter : !dtorch.buffer<4xf32, #host>
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
dtorch.program_func @alias_bytes arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #R>
  // expected-error @+1 {{buffer: an alias must have as many bytes on every device as its source}}
  %1 = dtorch.buffer alias %0 : !dtorch.buffer<4xf32, #S>
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @one_mesh arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #R>
  %1 = dtorch.buffer result 0 : !dtorch.buffer<4xf32, #host>
  // expected-error @+1 {{launch: buffers must be on one mesh}}
  dtorch.launch "unary" (%0) -> (%1) {kind = "exp"}
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @kernel arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  %1 = dtorch.buffer result 0 : !dtorch.buffer<4xf32, #host>
  // expected-error @+1 {{launch: no op named "nope"}}
  dtorch.launch "nope" (%0) -> (%1) {}
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @launch_type arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  %1 = dtorch.buffer result 0 : !dtorch.buffer<4xf64, #host>
  // expected-error @+1 {{launch: unary gives f32[4], but the output is f64[4]}}
  dtorch.launch "unary" (%0) -> (%1) {kind = "exp"}
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @launch_outputs arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  // expected-error @+1 {{launch: unary must have 1 outputs, got 0}}
  dtorch.launch "unary" (%0) -> () {kind = "exp"}
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#P = #dtorch.sharding<#mesh, [P]>
dtorch.program_func @launch_row arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #P>
  %1 = dtorch.buffer result 0 : !dtorch.buffer<4xf32, #P>
  // expected-error @+1 {{launch: placements match no row of the rule of unary}}
  dtorch.launch "unary" (%0) -> (%1) {kind = "log"}
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
dtorch.program_func @step arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #S>
  %1 = dtorch.buffer result 0 : !dtorch.buffer<4xf32, #R>
  // expected-error-re @+1 {{communicate: all_reduce: {{.+}}}}
  dtorch.communicate "all_reduce" (%0) -> (%1) over [0]
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
dtorch.program_func @step_kind arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #S>
  %1 = dtorch.buffer result 0 : !dtorch.buffer<4xf32, #R>
  // expected-error @+1 {{communicate: broadcast: no such kind of communication}}
  dtorch.communicate "broadcast" (%0) -> (%1) over [0]
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
dtorch.program_func @step_type arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #S>
  %1 = dtorch.buffer result 0 : !dtorch.buffer<5xf32, #R>
  // expected-error @+1 {{communicate: buffers must have one shape and element type}}
  dtorch.communicate "all_gather" (%0) -> (%1) over [0]
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @copy_count arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  // expected-error @+1 {{copy: must have 1 input and 1 output, got 2 and 0}}
  dtorch.copy (%0, %0) -> ()
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @copy_type arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  %1 = dtorch.buffer result 0 : !dtorch.buffer<5xf32, #host>
  // expected-error @+1 {{copy: buffers must have one type}}
  dtorch.copy (%0) -> (%1)
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @invoke_missing arena 0 {
  // expected-error @+1 {{invoke: no program function @f}}
  dtorch.invoke @f () -> () at 0
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func private @f arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
}
dtorch.program_func @invoke_count arena 0 {
  // expected-error @+1 {{invoke: @f has 1 arguments, got 0}}
  dtorch.invoke @f () -> () at 0
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func private @f arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
}
dtorch.program_func @invoke_type arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<5xf32, #host>
  // expected-error @+1 {{invoke: argument 0 of @f is '!dtorch.buffer<4xf32}}
  dtorch.invoke @f (%0) -> () at 0
}

// -----

dtorch.program_func private @f arena 128 {
}
dtorch.program_func @invoke_arena arena 128 {
  // expected-error @+1 {{invoke: the arena of @f (128 bytes at 64) must lie in the caller's 128 bytes}}
  dtorch.invoke @f () -> () at 64
}

// -----

dtorch.program_func private @f arena 0 {
}
dtorch.program_func @invoke_alignment arena 128 {
  // expected-error @+1 {{invoke: arena offset must be a multiple of 64, got 8}}
  dtorch.invoke @f () -> () at 8
}

// -----

dtorch.program_func @content arena 0 {
  // expected-error @+1 {{program: only buffers and instructions may stand here, got builtin.module}}
  builtin.module {}
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @order arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  %1 = dtorch.buffer result 0 : !dtorch.buffer<4xf32, #host>
  dtorch.copy (%0) -> (%1)
  // expected-error @+1 {{program: buffers must stand before instructions}}
  %2 = dtorch.buffer argument 1 : !dtorch.buffer<4xf32, #host>
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @twice arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  // expected-error @+1 {{program: argument 0 stands twice}}
  %1 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
// expected-error @+1 {{program: indices of arguments must be 0, 1, … without gaps}}
dtorch.program_func @gap arena 0 {
  %0 = dtorch.buffer argument 1 : !dtorch.buffer<4xf32, #host>
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @unwritten arena 64 {
  %0 = dtorch.buffer result 0 : !dtorch.buffer<4xf32, #host>
  %1 = dtorch.buffer arena 0 : !dtorch.buffer<4xf32, #host>
  // expected-error @+1 {{program: reads a buffer that no earlier instruction writes}}
  dtorch.copy (%1) -> (%0)
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @read_only arena 0 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  %1 = dtorch.buffer argument 1 : !dtorch.buffer<4xf32, #host>
  // expected-error @+1 {{program: writes argument 1, which is read only}}
  dtorch.copy (%0) -> (%1)
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @no_result arena 0 {
  // expected-error @+1 {{program: result 0 is never written}}
  %0 = dtorch.buffer result 0 : !dtorch.buffer<4xf32, #host>
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @outside arena 64 {
  %0 = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  // expected-error @+1 {{program: bytes 64 to 128 must lie in the arena of @outside (64 bytes)}}
  %1 = dtorch.buffer arena 64 : !dtorch.buffer<4xf32, #host>
  dtorch.copy (%0) -> (%1)
}

// -----

// Two buffers that are live at one time.
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @overlap arena 128 {
  %x = dtorch.buffer argument 0 : !dtorch.buffer<20xf32, #host>
  %y = dtorch.buffer result 0 : !dtorch.buffer<20xf32, #host>
  // expected-note @+1 {{bytes 0 to 128}}
  %0 = dtorch.buffer arena 0 : !dtorch.buffer<20xf32, #host>
  // expected-error @+1 {{program: bytes 64 to 128 overlap with a buffer that is still needed}}
  %1 = dtorch.buffer arena 64 : !dtorch.buffer<4xf32, #host>
  dtorch.launch "unary" (%x) -> (%0) {kind = "neg"}
  dtorch.launch "slice" (%0) -> (%1) {starts = array<i64: 0>, steps = array<i64: 1>, stops = array<i64: 4>}
  dtorch.launch "unary" (%0) -> (%y) {kind = "exp"}
}

// -----

// One after the other they may share bytes; the last use is through an alias.
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @overlap_alias arena 64 {
  %x = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  %y = dtorch.buffer result 0 : !dtorch.buffer<2x2xf32, #host>
  // expected-note @+1 {{bytes 0 to 64}}
  %0 = dtorch.buffer arena 0 : !dtorch.buffer<4xf32, #host>
  %1 = dtorch.buffer alias %0 : !dtorch.buffer<2x2xf32, #host>
  // expected-error @+1 {{program: bytes 0 to 64 overlap with a buffer that is still needed}}
  %2 = dtorch.buffer arena 0 : !dtorch.buffer<4xf32, #host>
  dtorch.launch "unary" (%x) -> (%0) {kind = "neg"}
  dtorch.launch "unary" (%x) -> (%2) {kind = "neg"}
  dtorch.launch "unary" (%1) -> (%y) {kind = "exp"}
}

// -----

// A callee's arena is in use while it runs.
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func private @f arena 64 {
}
dtorch.program_func @overlap_call arena 64 {
  %x = dtorch.buffer argument 0 : !dtorch.buffer<4xf32, #host>
  %y = dtorch.buffer result 0 : !dtorch.buffer<4xf32, #host>
  // expected-note @+1 {{bytes 0 to 64}}
  %0 = dtorch.buffer arena 0 : !dtorch.buffer<4xf32, #host>
  dtorch.launch "unary" (%x) -> (%0) {kind = "neg"}
  // expected-error @+1 {{program: bytes 0 to 64 overlap with a buffer that is still needed}}
  dtorch.invoke @f () -> () at 0
  dtorch.launch "unary" (%0) -> (%y) {kind = "exp"}
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @handle arena 0 {
  %0 = builtin.unrealized_conversion_cast to !dtorch.handle
  // expected-error @+1 {{copy: handles must come from dtorch.buffer}}
  dtorch.copy (%0) -> (%0)
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
dtorch.program_func @alias_order arena 0 {
  // expected-error @+1 {{buffer: the source of an alias must stand before it}}
  %0 = dtorch.buffer alias %1 : !dtorch.buffer<4xf32, #host>
  %1 = dtorch.buffer alias %0 : !dtorch.buffer<4xf32, #host>
  dtorch.copy (%0) -> (%1)
}
