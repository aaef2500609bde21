// RUN: dtorch-opt %s -split-input-file -dtorch-plan-buffers | FileCheck %s

#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#L = #dtorch.local<[4], #dtorch.sharding<#mesh, [R]>>

// CHECK-LABEL: func @main
// CHECK-SAME: attributes {dtorch.arena_bytes = 64 : i64}
// CHECK-NEXT: %[[A:.*]] = dtorch.unary %{{.*}} {dtorch.memory = [#dtorch.memory<arena 0>], kind = "neg"}
// CHECK-NEXT: dtorch.unary %[[A]] {dtorch.memory = [#dtorch.memory<result 0>], kind = "exp"}
func.func @main(%x: tensor<4xf32, #L>) -> tensor<4xf32, #L> {
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  %1 = dtorch.unary %0 {kind = "exp"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  return %1 : tensor<4xf32, #L>
}

// -----

// A chain of any length needs two buffers; one that is used late keeps its own.
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#L = #dtorch.local<[4], #host>

// CHECK-LABEL: func @chain
// CHECK-SAME: dtorch.arena_bytes = 192 : i64
func.func @chain(%x: tensor<4xf32, #L>) -> tensor<4xf32, #L> {
  // CHECK: [#dtorch.memory<arena 0>], kind = "neg"
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  // CHECK-NEXT: [#dtorch.memory<arena 64>], kind = "exp"
  %1 = dtorch.unary %0 {kind = "exp"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  // CHECK-NEXT: [#dtorch.memory<arena 128>], kind = "sin"
  %2 = dtorch.unary %1 {kind = "sin"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  // CHECK-NEXT: [#dtorch.memory<arena 64>], kind = "cos"
  %3 = dtorch.unary %2 {kind = "cos"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  // CHECK-NEXT: [#dtorch.memory<arena 128>], kind = "abs"
  %4 = dtorch.unary %3 {kind = "abs"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  // CHECK-NEXT: [#dtorch.memory<result 0>], kind = "add"
  %5 = dtorch.binary %4, %0 {kind = "add"} : (tensor<4xf32, #L>, tensor<4xf32, #L>) -> tensor<4xf32, #L>
  return %5 : tensor<4xf32, #L>
}

// -----

// A view shares its operand's memory and keeps it alive; where its value is
// returned, what it looks at is written into the result at once.
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#L4 = #dtorch.local<[4], #host>
#L22 = #dtorch.local<[2, 2], #host>

// CHECK-LABEL: func @views
// CHECK-SAME: dtorch.arena_bytes = 128 : i64
func.func @views(%x: tensor<4xf32, #L4>) -> tensor<2x2xf32, #L22> {
  // CHECK: [#dtorch.memory<arena 0>], kind = "neg"
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<4xf32, #L4>) -> tensor<4xf32, #L4>
  // CHECK: dtorch.view %{{.*}} {dtorch.memory = [#dtorch.memory<alias>]
  %1 = dtorch.view %0 {shape = array<i64: 2, 2>} : (tensor<4xf32, #L4>) -> tensor<2x2xf32, #L22>
  // CHECK: [#dtorch.memory<arena 64>], kind = "exp"
  %2 = dtorch.unary %x {kind = "exp"} : (tensor<4xf32, #L4>) -> tensor<4xf32, #L4>
  // CHECK: dtorch.view %{{.*}} {dtorch.memory = [#dtorch.memory<alias>]
  %3 = dtorch.view %2 {shape = array<i64: 2, 2>} : (tensor<4xf32, #L4>) -> tensor<2x2xf32, #L22>
  // CHECK: [#dtorch.memory<result 0>], kind = "add"
  %4 = dtorch.binary %1, %3 {kind = "add"} : (tensor<2x2xf32, #L22>, tensor<2x2xf32, #L22>) -> tensor<2x2xf32, #L22>
  return %4 : tensor<2x2xf32, #L22>
}

// CHECK-LABEL: func @returned_view
// CHECK-SAME: dtorch.arena_bytes = 0 : i64
func.func @returned_view(%x: tensor<4xf32, #L4>) -> tensor<2x2xf32, #L22> {
  // CHECK: [#dtorch.memory<result 0>], kind = "neg"
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<4xf32, #L4>) -> tensor<4xf32, #L4>
  // CHECK: [#dtorch.memory<alias>]
  %1 = dtorch.view %0 {shape = array<i64: 2, 2>} : (tensor<4xf32, #L4>) -> tensor<2x2xf32, #L22>
  return %1 : tensor<2x2xf32, #L22>
}

// -----

// A callee's arena lies where nothing lives during the call; its results are
// the caller's buffers. Sizes are those of the largest part: 2 of 3 rows.
#mesh = #dtorch.mesh<cpu, ["x" = 2], start = 0, strides = [1]>
#L = #dtorch.local<[3, 16], #dtorch.sharding<#mesh, [S(0)]>>

// CHECK-LABEL: func private @f
// CHECK-SAME: dtorch.arena_bytes = 128 : i64
func.func private @f(%x: tensor<?x16xf32, #L>) -> (tensor<?x16xf32, #L>, tensor<?x16xf32, #L>) {
  // CHECK: [#dtorch.memory<arena 0>], kind = "neg"
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<?x16xf32, #L>) -> tensor<?x16xf32, #L>
  // CHECK: [#dtorch.memory<result 0>], kind = "exp"
  %1 = dtorch.unary %0 {kind = "exp"} : (tensor<?x16xf32, #L>) -> tensor<?x16xf32, #L>
  // CHECK: [#dtorch.memory<result 1>], kind = "abs"
  %2 = dtorch.unary %0 {kind = "abs"} : (tensor<?x16xf32, #L>) -> tensor<?x16xf32, #L>
  return %1, %2 : tensor<?x16xf32, #L>, tensor<?x16xf32, #L>
}
// CHECK-LABEL: func @calls
// CHECK-SAME: dtorch.arena_bytes = 384 : i64
func.func @calls(%x: tensor<?x16xf32, #L>) -> tensor<?x16xf32, #L> {
  // CHECK: call @f(%{{.*}}) {dtorch.arena = 0 : i64, dtorch.memory = [#dtorch.memory<arena 128>, #dtorch.memory<arena 256>]}
  %0:2 = func.call @f(%x) : (tensor<?x16xf32, #L>) -> (tensor<?x16xf32, #L>, tensor<?x16xf32, #L>)
  // CHECK: [#dtorch.memory<result 0>], kind = "add"
  %1 = dtorch.binary %0#0, %0#1 {kind = "add"} : (tensor<?x16xf32, #L>, tensor<?x16xf32, #L>) -> tensor<?x16xf32, #L>
  return %1 : tensor<?x16xf32, #L>
}

// -----

// An argument that is returned, and a value's second return, have no place of
// their own: dtorch-convert-to-program copies them.
#host = #dtorch.sharding<#dtorch.mesh<cpu, host>, []>
#L = #dtorch.local<[4], #host>

// CHECK-LABEL: func @copies
// CHECK-SAME: dtorch.arena_bytes = 0 : i64
func.func @copies(%x: tensor<4xf32, #L>) -> (tensor<4xf32, #L>, tensor<4xf32, #L>, tensor<4xf32, #L>) {
  // CHECK: [#dtorch.memory<result 1>], kind = "neg"
  %0 = dtorch.unary %x {kind = "neg"} : (tensor<4xf32, #L>) -> tensor<4xf32, #L>
  return %x, %0, %0 : tensor<4xf32, #L>, tensor<4xf32, #L>, tensor<4xf32, #L>
}
