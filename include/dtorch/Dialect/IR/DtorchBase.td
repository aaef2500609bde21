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
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Dtorch_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dtorch_Dialect, mnemonic, traits>;

#endif // DTORCH_BASE
