//===- DtorchTypes.td - types of program ops ------------------*- tablegen -*-===//
#ifndef DTORCH_TYPES
#define DTORCH_TYPES

include "dtorch/Dialect/IR/DtorchBase.td"

def Dtorch_BufferType : TypeDef<Dtorch_Dialect, "ProgramBuffer"> {
  let mnemonic = "buffer";
  let summary = "What a buffer holds: global shape, element type, sharding";
  let description = [{
    A rank's own sizes follow from its coordinates by the shard law.

    Constraints: the sharding fits the shape; the element type is one of
    dtorch's.

    ```mlir
    !dtorch.buffer<3x8xf32, #S0_on_dp>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType,
                        "::dtorch::ShardingAttr":$sharding);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dtorch_HandleType : TypeDef<Dtorch_Dialect, "Handle"> {
  let mnemonic = "handle";
  let summary = "Names a buffer of a program function";
  let description = [{
    Its `dtorch.buffer` op says what it holds, so that instructions need not
    repeat it.
  }];
}

/// The one handle type, which assembly formats leave out.
def Dtorch_Handle : Type<Dtorch_HandleType.predicate, "handle of a buffer",
                         "::dtorch::HandleType">,
                    BuildableType<"$_builder.getType<::dtorch::HandleType>()">;

#endif // DTORCH_TYPES
