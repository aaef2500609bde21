//===- DtorchInterfaces.td - what passes ask of an op ---------*- tablegen -*-===//
#ifndef DTORCH_INTERFACES
#define DTORCH_INTERFACES

include "mlir/IR/OpBase.td"

def ComputeOpInterface : OpInterface<"ComputeOpInterface"> {
  let cppNamespace = "::dtorch";
  let description = [{An op of the op table: its meaning, its placement rule and
    its kernel go by its name.}];
  let methods = [
    InterfaceMethod<[{The call as the op table sees it: global operand types and
      attributes. Throws Error for element types that dtorch does not have.}],
      "::dtorch::OpCall", "getOpCall">
  ];
}

def StepOpInterface : OpInterface<"StepOpInterface"> {
  let cppNamespace = "::dtorch";
  let description = [{One step of a redistribute: a collective over mesh axes, or
    a local change of the same form.}];
  let methods = [
    StaticInterfaceMethod<"The kind of step.", "::dtorch::StepKind", "getStepKind">,
    InterfaceMethod<"The mesh axes that change.", "::llvm::ArrayRef<int64_t>", "getAxes">
  ];
}

#endif // DTORCH_INTERFACES
