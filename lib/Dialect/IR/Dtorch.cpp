//===- Dtorch.cpp - the dialect, its aliases and discardable attributes ---===//

#include "dtorch/Dialect/IR/Dtorch.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtorch;

#include "dtorch/Dialect/IR/DtorchDialect.cpp.inc"
#include "dtorch/Dialect/IR/DtorchInterfaces.cpp.inc"

/// "S0_on_dp_P_on_tp": the placements that are not R, in mesh order.
static std::string aliasOf(ShardingAttr sharding) {
  const DeviceMesh &mesh = *sharding.getMesh().getValue();
  if (mesh.isHost())
    return "host";
  std::string name;
  for (auto [axis, placement] : llvm::enumerate(sharding.getPlacements())) {
    if (placement.isReplicate())
      continue;
    if (!name.empty())
      name += "_";
    if (placement.isShard()) {
      name += "S" + std::to_string(placement.dim);
      if (placement.unit != 1)
        name += "u" + std::to_string(placement.unit);
    } else {
      name += "P";
      if (placement.reduce != ReduceKind::Sum)
        name += toString(placement.reduce);
    }
    name += "_on_" + mesh.dimNames()[axis];
  }
  return name.empty() ? "replicated" : name;
}

namespace {
/// Short names in text. A sharding's name says what it is, so that adding one
/// does not rename the others; equal names of two meshes get a number.
struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    if (auto mesh = dyn_cast<MeshAttr>(attribute)) {
      if (mesh.getValue()->isHost())
        return AliasResult::NoAlias;
      os << "mesh";
      return AliasResult::FinalAlias;
    }
    if (auto sharding = dyn_cast<ShardingAttr>(attribute)) {
      os << aliasOf(sharding);
      return AliasResult::FinalAlias;
    }
    return AliasResult::NoAlias;
  }
};
} // namespace

void DtorchDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerComputeOps();
  registerCollectiveOps();
  registerProgramOps();
  addInterfaces<Aliases>();
}

//===----------------------------------------------------------------------===//
// Attributes on others' ops
//===----------------------------------------------------------------------===//

static LogicalResult verifyPhase(Operation *op, Attribute value) {
  auto phase = dyn_cast<StringAttr>(value);
  if (!isa<ModuleOp>(op))
    return op->emitError() << kPhaseAttr << ": belongs to a module";
  if (!phase || !llvm::is_contained({"global", "placed", "local", "program"},
                                    phase.getValue()))
    return op->emitError() << kPhaseAttr
                           << ": must be \"global\", \"placed\", \"local\" or "
                              "\"program\", got "
                           << value;
  return success();
}

template <typename AttrT>
static LogicalResult verifyKind(Operation *op, NamedAttribute attribute,
                                StringRef expected) {
  if (isa<AttrT>(attribute.getValue()))
    return success();
  return op->emitError() << attribute.getName().getValue() << ": must be "
                         << expected << ", got " << attribute.getValue();
}

static LogicalResult verifyMemory(Operation *op, NamedAttribute attribute) {
  auto places = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!places || places.size() != op->getNumResults() ||
      !llvm::all_of(places, llvm::IsaPred<MemoryAttr>))
    return op->emitError() << kMemoryAttr
                           << ": must have one #dtorch.memory per result, got "
                           << attribute.getValue();
  return success();
}

LogicalResult
DtorchDialect::verifyOperationAttribute(Operation *op,
                                        NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kPhaseAttr)
    return verifyPhase(op, attribute.getValue());
  if (name == kStrictAttr)
    return verifyKind<UnitAttr>(op, attribute, "a unit attribute");
  if (name == kModuleAttr)
    return verifyKind<StringAttr>(op, attribute, "a string");
  if (name == kArenaAttr || name == kArenaBytesAttr)
    return verifyKind<IntegerAttr>(op, attribute, "an integer");
  if (name == kMemoryAttr)
    return verifyMemory(op, attribute);
  return op->emitError() << "unknown attribute " << name;
}

LogicalResult
DtorchDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                        NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kNameAttr)
    return verifyKind<StringAttr>(op, attribute, "a string");
  if (name == kParameterAttr)
    return verifyKind<UnitAttr>(op, attribute, "a unit attribute");
  return op->emitError() << "unknown attribute " << name << " of an argument";
}

LogicalResult
DtorchDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                           NamedAttribute attribute) {
  if (attribute.getName() == kNameAttr)
    return verifyKind<StringAttr>(op, attribute, "a string");
  return op->emitError() << "unknown attribute "
                         << attribute.getName().getValue() << " of a result";
}
