// RUN: dtorch-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{device mesh: sizes must be at least 1, got (0,)}}
func.func private @sizes(tensor<4xf32, #dtorch.sharding<#dtorch.mesh<cpu, ["x" = 0], start = 0, strides = [1]>, [R]>>)

// -----

// expected-error @+1 {{expected valid keyword}}
#quoted = #dtorch.mesh<"a b", ["x" = 2], start = 0, strides = [1]>

// -----

// expected-error @+1 {{device mesh: shape (2,) needs 2 devices, got 0}}
func.func private @ids(tensor<4xf32, #dtorch.sharding<#dtorch.mesh<cpu, ["x" = 2], ids = []>, [R]>>)

// -----

// expected-error @+1 {{device numbers must be below 2^40}}
func.func private @overflow(tensor<4xf32, #dtorch.sharding<#dtorch.mesh<cpu, ["x" = 2], start = 9223372036854775807, strides = [1]>, [R]>>)

// -----

// expected-error @+1 {{tensor: must have at most 2^48 elements, got shape (4294967296, 4294967296)}}
func.func private @size(tensor<4294967296x4294967296xf32, #dtorch.sharding<#dtorch.mesh<cpu, host>, []>>)

// -----

// expected-error @+1 {{twice}}
func.func private @names(tensor<4xf32, #dtorch.sharding<#dtorch.mesh<cpu, ["x" = 2, "x" = 2], start = 0, strides = [2, 1]>, [R, R]>>)

// -----

// expected-error @+1 {{device}}
func.func private @devices(tensor<4xf32, #dtorch.sharding<#dtorch.mesh<cpu, ["x" = 2, "y" = 2], start = 0, strides = [1, 1]>, [R, R]>>)

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{sharding: must have one placement per mesh axis (1), got 2}}
#two = #dtorch.sharding<#mesh, [R, R]>
func.func private @count(tensor<4xf32, #two>)

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{expected a placement S(dim), S(dim:unit), R, P, P(max) or P(min), got Q}}
#q = #dtorch.sharding<#mesh, [Q]>

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{expected P, P(max) or P(min), got P(mean)}}
#p = #dtorch.sharding<#mesh, [P(mean)]>

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{dim must be in [0, 1) of a tensor of shape (4,), got 1}}
func.func private @dim(tensor<4xf32, #dtorch.sharding<#mesh, [S(1)]>>)

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{unit must be at least 1 and divide dim 0 of size 4, got 3}}
func.func private @unit(tensor<4xf32, #dtorch.sharding<#mesh, [S(0:3)]>>)

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2, "y" = 2], start = 0, strides = [2, 1]>
// expected-error @+1 {{axes that shard dim 0 must have one unit, got 2 and 4}}
func.func private @units(tensor<8xf32, #dtorch.sharding<#mesh, [S(0:2), S(0:4)]>>)

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{tensor: element type must be i1, i32, i64, f16, bf16, f32 or f64, got 'i8'}}
func.func private @element(tensor<4xi8, #dtorch.sharding<#mesh, [R]>>)

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{tensor: global sizes must be known, got `?`; only tensors with #dtorch.local have it}}
func.func private @dynamic(tensor<?xf32, #dtorch.sharding<#mesh, [R]>>)

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{tensor: local shape of 3x8 must be ?x8, got 2x8}}
func.func private @local(tensor<2x8xf32, #dtorch.local<[3, 8], #dtorch.sharding<#mesh, [S(0)]>>>)

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{dim must be in [0, 2) of a tensor of shape (3, 8), got 2}}
func.func private @local_sharding(tensor<3x8xf32, #dtorch.local<[3, 8], #dtorch.sharding<#mesh, [S(2)]>>>)

// -----

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
// expected-error @+1 {{dim must be in [0, 1) of a tensor of shape (3,), got 1}}
func.func private @buffer(!dtorch.buffer<3xf32, #dtorch.sharding<#mesh, [S(1)]>>)

// -----

// expected-error @+1 {{expected arena, result or alias, got heap}}
func.func private @memory() attributes {a = #dtorch.memory<heap 0>}

// -----

// expected-error @+1 {{dtorch.phase: must be "global", "placed", "local" or "program", got "late"}}
module attributes {dtorch.phase = "late"} {}

// -----

// expected-error @+1 {{dtorch.phase: belongs to a module}}
func.func private @phase() attributes {dtorch.phase = "global"}

// -----

// expected-error @+1 {{dtorch.strict: must be a unit attribute, got true}}
module attributes {dtorch.strict = true} {}

// -----

// expected-error @+1 {{unknown attribute dtorch.unknown}}
module attributes {dtorch.unknown} {}

// -----

// expected-error @+1 {{dtorch.name: must be a string, got 1 : i64}}
func.func private @name(tensor<f32> {dtorch.name = 1})

// -----

// expected-error @+1 {{unknown attribute dtorch.weight of an argument}}
func.func private @argument(tensor<f32> {dtorch.weight})

// -----

// expected-error @+1 {{unknown attribute dtorch.parameter of a result}}
func.func private @result() -> (tensor<f32> {dtorch.parameter})

// -----

func.func @memory(%x: tensor<4xf32>) {
  // expected-error @+1 {{dtorch.memory: must have one #dtorch.memory per result, got []}}
  %0 = dtorch.unary %x {dtorch.memory = [], kind = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
