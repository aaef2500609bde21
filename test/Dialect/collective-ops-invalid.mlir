// RUN: dtorch-opt %s -split-input-file -verify-diagnostics

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @shape(%x: tensor<4xf32, #R>) {
  // expected-error @+1 {{redistribute: result must be f32[4] as the operand, got f32[5]}}
  %0 = dtorch.redistribute %x : tensor<4xf32, #R> -> tensor<5xf32, #R>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @unplaced(%x: tensor<4xf32, #R>) {
  // expected-error @+1 {{redistribute: result must have a sharding, got 'tensor<4xf32>'}}
  %0 = dtorch.redistribute %x : tensor<4xf32, #R> -> tensor<4xf32>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#L = #dtorch.local<[4], #dtorch.sharding<#mesh, [R]>>
func.func @local(%x: tensor<4xf32, #L>) {
  // expected-error @+1 {{redistribute: types must be global, since local ones are changed by step ops}}
  %0 = dtorch.redistribute %x : tensor<4xf32, #L> -> tensor<4xf32, #L>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#P = #dtorch.sharding<#mesh, [P]>
func.func @placed(%x: tensor<4xf32>) {
  // expected-error @+1 {{local_mask: operand and result must have a sharding}}
  %0 = dtorch.local_mask %x over [0] : tensor<4xf32> -> tensor<4xf32, #P>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
#P = #dtorch.sharding<#mesh, [P]>
func.func @one_phase(%x: tensor<4xf32, #R>) {
  // expected-error @+1 {{local_mask: operand and result must both be local or both be global}}
  %0 = dtorch.local_mask %x over [0] : tensor<4xf32, #R> -> tensor<4xf32, #dtorch.local<[4], #P>>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#other = #dtorch.mesh<cpu, ["dp" = 2], start = 2, strides = [1]>
#P = #dtorch.sharding<#mesh, [P]>
#R = #dtorch.sharding<#other, [R]>
func.func @one_mesh(%x: tensor<4xf32, #P>) {
  // expected-error @+1 {{all_reduce: operand and result must be on one mesh, got mesh<cpu, ["dp" = 2], start = 0, strides = [1]> and mesh<cpu, ["dp" = 2], start = 2, strides = [1]>}}
  %0 = dtorch.all_reduce %x over [0] : tensor<4xf32, #P> -> tensor<4xf32, #R>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#P = #dtorch.sharding<#mesh, [P]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @axes(%x: tensor<4xf32, #P>) {
  // expected-error @+1 {{all_reduce: axes must be ascending indices of the mesh's 1 axes, got (1,)}}
  %0 = dtorch.all_reduce %x over [1] : tensor<4xf32, #P> -> tensor<4xf32, #R>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#P = #dtorch.sharding<#mesh, [P, P]>
#R = #dtorch.sharding<#mesh, [R, R]>
func.func @other_axes(%x: tensor<4xf32, #P>) {
  // expected-error @+1 {{all_reduce: placements must differ on axes (0,) only, got [P, P] and [R, R]}}
  %0 = dtorch.all_reduce %x over [0] : tensor<4xf32, #P> -> tensor<4xf32, #R>
  return
}

// -----

// What each kind of step may change is one function's business; its own test
// covers all of it.
#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @all_reduce(%x: tensor<4xf32, #S>) {
  // expected-error-re @+1 {{all_reduce: {{.+}}}}
  %0 = dtorch.all_reduce %x over [0] : tensor<4xf32, #S> -> tensor<4xf32, #R>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#P = #dtorch.sharding<#mesh, [P]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @all_gather(%x: tensor<4xf32, #P>) {
  // expected-error-re @+1 {{all_gather: {{.+}}}}
  %0 = dtorch.all_gather %x over [0] : tensor<4xf32, #P> -> tensor<4xf32, #R>
  return
}

// -----

// Inner shards are gathered before outer ones.
#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#SS = #dtorch.sharding<#mesh, [S(0), S(0)]>
#RS = #dtorch.sharding<#mesh, [R, S(0)]>
func.func @innermost(%x: tensor<4xf32, #SS>) {
  // expected-error-re @+1 {{all_gather: {{.+}}}}
  %0 = dtorch.all_gather %x over [0] : tensor<4xf32, #SS> -> tensor<4xf32, #RS>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @reduce_scatter(%x: tensor<4xf32, #R>) {
  // expected-error-re @+1 {{reduce_scatter: {{.+}}}}
  %0 = dtorch.reduce_scatter %x over [0] : tensor<4xf32, #R> -> tensor<4xf32, #S>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S = #dtorch.sharding<#mesh, [S(0)]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @all_to_all(%x: tensor<4x4xf32, #S>) {
  // expected-error-re @+1 {{all_to_all: {{.+}}}}
  %0 = dtorch.all_to_all %x over [0] : tensor<4x4xf32, #S> -> tensor<4x4xf32, #R>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#P = #dtorch.sharding<#mesh, [P]>
#S = #dtorch.sharding<#mesh, [S(0)]>
func.func @exchange(%x: tensor<4xf32, #P>) {
  // expected-error-re @+1 {{exchange: {{.+}}}}
  %0 = dtorch.exchange %x over [0] : tensor<4xf32, #P> -> tensor<4xf32, #S>
  return
}

// -----

// A later axis shards the dim already, so pieces would have to move.
#mesh = #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
#RS = #dtorch.sharding<#mesh, [R, S(0)]>
#SS = #dtorch.sharding<#mesh, [S(0), S(0)]>
func.func @local_slice(%x: tensor<4xf32, #RS>) {
  // expected-error-re @+1 {{local_slice: {{.+}}}}
  %0 = dtorch.local_slice %x over [0] : tensor<4xf32, #RS> -> tensor<4xf32, #SS>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#S = #dtorch.sharding<#mesh, [S(0)]>
#P = #dtorch.sharding<#mesh, [P]>
func.func @local_mask(%x: tensor<4xf32, #S>) {
  // expected-error-re @+1 {{local_mask: {{.+}}}}
  %0 = dtorch.local_mask %x over [0] : tensor<4xf32, #S> -> tensor<4xf32, #P>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @from_host_operand(%x: tensor<4xf32, #R>) {
  // expected-error-re @+1 {{from_host: the operand must be on the host, got mesh<cpu, {{.+}}}}
  %0 = dtorch.from_host %x : tensor<4xf32, #R> -> tensor<4xf32, #R>
  return
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
func.func @from_host_result(%x: tensor<4xf32, #host>) {
  // expected-error @+1 {{from_host: the result must be on a mesh with devices, got the host}}
  %0 = dtorch.from_host %x : tensor<4xf32, #host> -> tensor<4xf32, #host>
  return
}

// -----

#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
func.func @to_host_operand(%x: tensor<4xf32, #host>) {
  // expected-error @+1 {{to_host: the operand must be on a mesh with devices, got the host}}
  %0 = dtorch.to_host %x : tensor<4xf32, #host> -> tensor<4xf32, #host>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#R = #dtorch.sharding<#mesh, [R]>
func.func @to_host_result(%x: tensor<4xf32, #R>) {
  // expected-error-re @+1 {{to_host: the result must be on the host, got mesh<cpu, {{.+}}}}
  %0 = dtorch.to_host %x : tensor<4xf32, #R> -> tensor<4xf32, #R>
  return
}

// -----

#mesh = #dtorch.mesh<cpu, ["dp" = 2], start = 0, strides = [1]>
#P = #dtorch.sharding<#mesh, [P]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
func.func @to_host_pending(%x: tensor<4xf32, #P>) {
  // expected-error @+1 {{to_host: no axis may be pending, got [P]; reduce it first}}
  %0 = dtorch.to_host %x : tensor<4xf32, #P> -> tensor<4xf32, #host>
  return
}
