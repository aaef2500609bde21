// RUN: dtorch-run %s --compare | FileCheck %s
// RUN: env DTORCH_TEST_JITTER=2 dtorch-run %s --compare --seed=9 | FileCheck %s
// CHECK: compared 3 outputs: max difference 0
//
// A value that wanders over every kind of placement on a 2 x 3 mesh stays the
// same value: uneven dims (7 and 5), both axes on one dim, pending, units.

#mesh = #dtorch.mesh<cpu, ["a" = 2, "b" = 3], start = 0, strides = [3, 1]>
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#RR = #dtorch.sharding<#mesh, [R, R]>
#SR = #dtorch.sharding<#mesh, [S(0), R]>
#RS = #dtorch.sharding<#mesh, [R, S(0)]>
#SS = #dtorch.sharding<#mesh, [S(0), S(0)]>
#S01 = #dtorch.sharding<#mesh, [S(0), S(1)]>
#S10 = #dtorch.sharding<#mesh, [S(1), S(0)]>
#PR = #dtorch.sharding<#mesh, [P, R]>
#PP = #dtorch.sharding<#mesh, [P, P]>
#PS = #dtorch.sharding<#mesh, [P, S(1)]>
#SP = #dtorch.sharding<#mesh, [S(1), P]>
#U = #dtorch.sharding<#mesh, [S(1:4), S(0)]>
#UU = #dtorch.sharding<#mesh, [S(1:2), S(1:2)]>

func.func @sharded(%x: tensor<7x5xf32, #host> {dtorch.name = "x"}, %y: tensor<7x12xf32, #host> {dtorch.name = "y"},
                   %z: tensor<1x2xf32, #host> {dtorch.name = "z"})
    -> (tensor<7x5xf32, #host> {dtorch.name = "p"}, tensor<7x12xf32, #host> {dtorch.name = "q"}, tensor<1x2xf32, #host> {dtorch.name = "r"}) {
  %0 = dtorch.redistribute %x : tensor<7x5xf32, #host> -> tensor<7x5xf32, #S01>
  %1 = dtorch.redistribute %0 : tensor<7x5xf32, #S01> -> tensor<7x5xf32, #S10>
  %2 = dtorch.redistribute %1 : tensor<7x5xf32, #S10> -> tensor<7x5xf32, #SS>
  %3 = dtorch.redistribute %2 : tensor<7x5xf32, #SS> -> tensor<7x5xf32, #RS>
  %4 = dtorch.redistribute %3 : tensor<7x5xf32, #RS> -> tensor<7x5xf32, #SR>
  %5 = dtorch.redistribute %4 : tensor<7x5xf32, #SR> -> tensor<7x5xf32, #PS>
  %6 = dtorch.redistribute %5 : tensor<7x5xf32, #PS> -> tensor<7x5xf32, #SP>
  %7 = dtorch.redistribute %6 : tensor<7x5xf32, #SP> -> tensor<7x5xf32, #RR>
  %8 = dtorch.redistribute %7 : tensor<7x5xf32, #RR> -> tensor<7x5xf32, #PP>
  %9 = dtorch.redistribute %8 : tensor<7x5xf32, #PP> -> tensor<7x5xf32, #SS>
  %10 = dtorch.redistribute %9 : tensor<7x5xf32, #SS> -> tensor<7x5xf32, #PR>
  %11 = dtorch.redistribute %10 : tensor<7x5xf32, #PR> -> tensor<7x5xf32, #host>
  // Blocks of 4 columns over a, of 2 over a and b.
  %20 = dtorch.redistribute %y : tensor<7x12xf32, #host> -> tensor<7x12xf32, #U>
  %21 = dtorch.redistribute %20 : tensor<7x12xf32, #U> -> tensor<7x12xf32, #UU>
  %22 = dtorch.redistribute %21 : tensor<7x12xf32, #UU> -> tensor<7x12xf32, #S01>
  %23 = dtorch.redistribute %22 : tensor<7x12xf32, #S01> -> tensor<7x12xf32, #PP>
  %24 = dtorch.redistribute %23 : tensor<7x12xf32, #PP> -> tensor<7x12xf32, #U>
  %25 = dtorch.redistribute %24 : tensor<7x12xf32, #U> -> tensor<7x12xf32, #host>
  // Fewer elements than devices.
  %30 = dtorch.redistribute %z : tensor<1x2xf32, #host> -> tensor<1x2xf32, #S01>
  %31 = dtorch.redistribute %30 : tensor<1x2xf32, #S01> -> tensor<1x2xf32, #SS>
  %32 = dtorch.redistribute %31 : tensor<1x2xf32, #SS> -> tensor<1x2xf32, #PS>
  %33 = dtorch.redistribute %32 : tensor<1x2xf32, #PS> -> tensor<1x2xf32, #host>
  return %11, %25, %33 : tensor<7x5xf32, #host>, tensor<7x12xf32, #host>, tensor<1x2xf32, #host>
}

func.func @single(%x: tensor<7x5xf32> {dtorch.name = "x"}, %y: tensor<7x12xf32> {dtorch.name = "y"}, %z: tensor<1x2xf32> {dtorch.name = "z"})
    -> (tensor<7x5xf32> {dtorch.name = "p"}, tensor<7x12xf32> {dtorch.name = "q"}, tensor<1x2xf32> {dtorch.name = "r"}) {
  return %x, %y, %z : tensor<7x5xf32>, tensor<7x12xf32>, tensor<1x2xf32>
}
