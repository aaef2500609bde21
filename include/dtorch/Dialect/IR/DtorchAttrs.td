//===- DtorchAttrs.td - meshes, shardings, local parts --------*- tablegen -*-===//
#ifndef DTORCH_ATTRS
#define DTORCH_ATTRS

include "dtorch/Dialect/IR/DtorchBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

class Dtorch_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Dtorch_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

/// A mesh, uniqued by its contents.
def Dtorch_MeshParameter
    : AttrParameter<"::dtorch::MeshRef", "the mesh", "const ::dtorch::MeshRef &"> {
  let comparator = "::dtorch::sameMesh($_lhs, $_rhs)";
}

def Dtorch_MeshAttr : Dtorch_Attr<"Mesh", "mesh"> {
  let summary = "Devices along named axes";
  let description = [{
    A regular layout of device numbers is start plus strides; another lists its
    ids in row-major order. The host mesh is that of host tensors.

    Constraints: axis sizes are >= 1; axis names differ; devices differ.

    ```mlir
    #dtorch.mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
    #dtorch.mesh<cpu, ["x" = 4], ids = [3, 1, 0, 2]>
    #dtorch.mesh<cpu, host>
    ```
  }];
  let parameters = (ins Dtorch_MeshParameter:$value);
  let hasCustomAssemblyFormat = 1;
}

def Dtorch_ShardingAttr : Dtorch_Attr<"Sharding", "sharding",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "A mesh and one placement per axis: where a tensor lies";
  let description = [{
    The encoding of a tensor type. Placements: `S(d)` shard of dim d, `S(d:u)`
    shard in blocks of u elements, `R` replicate, `P` (`P(max)`, `P(min)`)
    partial.

    Constraints: one placement per mesh axis; dims are in range; a unit divides
    its dim, and all axes that shard a dim have the same unit.

    ```mlir
    tensor<8x64xf32, #dtorch.sharding<#mesh, [S(0), S(1:16)]>>
    ```
  }];
  let parameters = (ins "::dtorch::MeshAttr":$mesh,
                        ArrayRefParameter<"::dtorch::Placement">:$placements);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::dtorch::Sharding getSharding() const;
    static ShardingAttr get(::mlir::MLIRContext *context, const ::dtorch::Sharding &sharding);
    bool isHost() const { return getMesh().getValue()->isHost(); }
  }];
}

def Dtorch_LocalAttr : Dtorch_Attr<"Local", "local",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "One device's part of a tensor";
  let description = [{
    The encoding of a local tensor type: the global shape, and the sharding by
    which it is cut. The tensor's own shape has `?` where devices differ.

    Constraints: the sharding fits the global shape; the tensor's shape is the
    local one.

    ```mlir
    tensor<?x8xf32, #dtorch.local<[3, 8], #S0_on_dp>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::dtorch::ShardingAttr":$sharding);
  let hasCustomAssemblyFormat = 1;
}

def Dtorch_MemoryAttr : Dtorch_Attr<"Memory", "memory"> {
  let summary = "Where the planner puts a value";
  let description = [{
    `arena n`: n bytes into the function's arena; `result i`: memory of the
    function's i-th result; `alias`: that of the op's first operand.

    ```mlir
    #dtorch.memory<arena 64>
    ```
  }];
  let parameters = (ins StringRefParameter<"arena, result or alias">:$kind,
                        "int64_t":$value);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static MemoryAttr arena(::mlir::MLIRContext *context, int64_t offset) {
      return get(context, "arena", offset);
    }
    static MemoryAttr result(::mlir::MLIRContext *context, int64_t index) {
      return get(context, "result", index);
    }
    static MemoryAttr alias(::mlir::MLIRContext *context) {
      return get(context, "alias", 0);
    }
    bool isArena() const { return getKind() == "arena"; }
    bool isResult() const { return getKind() == "result"; }
    bool isAlias() const { return getKind() == "alias"; }
  }];
}

#endif // DTORCH_ATTRS
