//===- ProgramOps.td - what the executor runs, as text --------*- tablegen -*-===//
//
// One op per piece of Runtime/Program.h; lib/Target translates one to one. An
// SSA value names a buffer and instructions write to buffers in their order, so
// these ops are not pure.
//
//===----------------------------------------------------------------------===//
#ifndef DTORCH_PROGRAM_OPS
#define DTORCH_PROGRAM_OPS

include "dtorch/Dialect/IR/DtorchBase.td"
include "dtorch/Dialect/IR/DtorchTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Dtorch_ProgramFuncOp : Dtorch_Op<"program_func",
    [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "A function: buffers, then instructions over them";
  let description = [{
    Every device runs the same list. `arena` is the number of bytes of memory
    that its buffers and everything it calls need on one device.

    Constraints: buffers stand before instructions; argument and result indices
    are 0, 1, … without gaps; arena buffers and call regions lie inside the
    arena; a buffer is written before it is read, and argument buffers are never
    written; no two buffers that are live at one time overlap.

    ```mlir
    dtorch.program_func @main arena 128 {
      %arg0 = dtorch.buffer argument 0 "x" : !dtorch.buffer<3xf32, #host>
      %result0 = dtorch.buffer result 0 "y" : !dtorch.buffer<3xf32, #host>
      %0 = dtorch.buffer arena 64 : !dtorch.buffer<3xf32, #host>
      dtorch.launch "unary" (%arg0) -> (%0) {kind = "neg"}
      dtorch.launch "unary" (%0) -> (%result0) {kind = "exp"}
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       I64Attr:$arena_bytes);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Dtorch_BufferOp : Dtorch_Op<"buffer", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    HasParent<"ProgramFuncOp">]> {
  let summary = "A buffer of a program function";
  let description = [{
    `argument i` (read only; a weight is marked `parameter`), `result i` (memory
    given by the caller), `arena n` (n bytes into the function's arena) or
    `alias` (another buffer's memory under another type).

    Constraints: indices and offsets are >= 0; only an alias has an operand, and
    it needs as many bytes on every device.

    ```mlir
    %arg1 = dtorch.buffer argument 1 "fc1.weight" parameter : !dtorch.buffer<5x8xf32, #S0_on_tp>
    %3 = dtorch.buffer alias %2 : !dtorch.buffer<15xf32, #S0_on_tp>
    ```
  }];
  let arguments = (ins StrAttr:$kind, DefaultValuedAttr<I64Attr, "0">:$value,
                       Optional<Dtorch_Handle>:$source,
                       OptionalAttr<StrAttr>:$label, UnitAttr:$parameter,
                       TypeAttrOf<Dtorch_BufferType>:$holds);
  let results = (outs Dtorch_Handle:$handle);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::dtorch::ProgramBufferType getBufferType() {
      return ::llvm::cast<::dtorch::ProgramBufferType>(getHolds());
    }
    bool isArgument() { return getKind() == "argument"; }
    bool isResult() { return getKind() == "result"; }
    bool isArena() { return getKind() == "arena"; }
    bool isAlias() { return getKind() == "alias"; }
  }];
}

class Dtorch_Instruction<string mnemonic, list<Trait> traits = []>
    : Dtorch_Op<mnemonic, traits # [AttrSizedOperandSegments, HasParent<"ProgramFuncOp">]> {
  let hasVerifier = 1;
}

def Dtorch_LaunchOp : Dtorch_Instruction<"launch"> {
  let summary = "Run a kernel on every device that holds its buffers";
  let description = [{
    Constraints: the kernel is an op of the op table; its result types are those
    of the output buffers; all buffers are on one mesh.

    ```mlir
    dtorch.launch "linear" (%0, %arg1) -> (%1) {}
    ```
  }];
  let arguments = (ins StrAttr:$kernel, Variadic<Dtorch_Handle>:$inputs,
                       Variadic<Dtorch_Handle>:$outputs, DictionaryAttr:$attrs);
  let assemblyFormat = [{
    $kernel ` ` `(` $inputs `)` `->` `(` $outputs `)` $attrs attr-dict-with-keyword
  }];
}

def Dtorch_CommunicateOp : Dtorch_Instruction<"communicate"> {
  let summary = "One step of a redistribute, or from_host, or to_host";
  let description = [{
    The kinds are those of the step ops; `slice` and `mask` are local.

    Constraints: those of the step op, over one input and one output.

    ```mlir
    dtorch.communicate "all_reduce" (%1) -> (%2) over [1]
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<Dtorch_Handle>:$inputs,
                       Variadic<Dtorch_Handle>:$outputs,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$axes);
  let assemblyFormat = [{
    $kind ` ` `(` $inputs `)` `->` `(` $outputs `)` (`over` $axes^)? attr-dict
  }];
}

def Dtorch_CopyOp : Dtorch_Instruction<"copy"> {
  let summary = "Copy a buffer to another of the same type";
  let description = [{
    Constraints: one input, one output, equal types.

    ```mlir
    dtorch.copy (%arg0) -> (%result0)
    ```
  }];
  let arguments = (ins Variadic<Dtorch_Handle>:$inputs,
                       Variadic<Dtorch_Handle>:$outputs);
  let assemblyFormat = "` ` `(` $inputs `)` `->` `(` $outputs `)` attr-dict";
}

def Dtorch_InvokeOp : Dtorch_Instruction<"invoke",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Call a program function";
  let description = [{
    The callee's arena lies `at` so many bytes into ours.

    Constraints: the callee is a program function of this module; inputs and
    outputs have the types of its arguments and results; its arena fits.

    ```mlir
    dtorch.invoke @layer (%0, %arg1) -> (%1) at 256 {dtorch.module = "model.layers.0"}
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Dtorch_Handle>:$inputs,
                       Variadic<Dtorch_Handle>:$outputs, I64Attr:$offset);
  let assemblyFormat = [{
    $callee ` ` `(` $inputs `)` `->` `(` $outputs `)` `at` $offset attr-dict
  }];
}

#endif // DTORCH_PROGRAM_OPS
