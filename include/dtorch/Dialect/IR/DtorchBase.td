//===- DtorchBase.td - the dialect and its base classes -------*- tablegen -*-===//
#ifndef DTORCH_BASE
#define DTORCH_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dtorch_Dialect : Dialect {
  let name = "dtorch";
  let cppNamespace = "::dtorch";
  let summary = "Tensor programs for a mesh of devices";
  let description = [{
    Compute ops work on ranked tensors that mean one global value. The tensor
    type's encoding says where that value lies: nothing yet, a
    `#dtorch.sharding`, or a `#dtorch.local` (one device's part).

    Attributes of others' ops:

    - `dtorch.phase` on the module: "global", "placed", "local" or "program".
    - `dtorch.strict` (unit) on the module or an op: placements that match no
      row are an error there, never an inserted redistribute.
    - `dtorch.name` (string) on arguments and results of the entry, and
      `dtorch.parameter` (unit) on arguments that are weights.
    - `dtorch.module` (string) on calls: the module path of the Python object.
    - `dtorch.memory`, `dtorch.arena`, `dtorch.arena_bytes`: see
      `dtorch-plan-buffers`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    // One a file of ops, so that each file's ops compile on their own.
    void registerAttributes();
    void registerTypes();
    void registerComputeOps();
    void registerCollectiveOps();
    void registerProgramOps();
  }];
}

class Dtorch_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dtorch_Dialect, mnemonic, traits>;

#endif // DTORCH_BASE
