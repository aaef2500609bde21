//===- Attributes.cpp - meshes, shardings, local parts --------------------===//

#include "dtorch/Dialect/IR/Conversions.h"
#include "dtorch/Dialect/IR/Dtorch.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtorch;

#define GET_ATTRDEF_CLASSES
#include "dtorch/Dialect/IR/DtorchAttrs.cpp.inc"

void DtorchDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dtorch/Dialect/IR/DtorchAttrs.cpp.inc"
      >();
}

llvm::hash_code dtorch::hash_value(const MeshRef &mesh) {
  return llvm::hash_value(mesh->str());
}

llvm::hash_code dtorch::hash_value(const Placement &placement) {
  return llvm::hash_combine(static_cast<int>(placement.kind),
                            static_cast<int>(placement.reduce), placement.dim,
                            placement.unit);
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

namespace {
/// The pieces of a mesh's text.
struct MeshText {
  std::string type;
  std::vector<std::string> names;
  Shape sizes, strides;
  std::vector<int64_t> ids;
  int64_t start = 0;
  bool listed = false; ///< ids, not start and strides
};
} // namespace

/// `[1, 2]`.
static ParseResult parseIntegers(AsmParser &parser, std::vector<int64_t> &out) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(out.emplace_back());
  });
}

/// `"dp" = 2`.
static ParseResult parseAxis(AsmParser &parser, MeshText &text) {
  return failure(parser.parseString(&text.names.emplace_back()) ||
                 parser.parseEqual() ||
                 parser.parseInteger(text.sizes.emplace_back()));
}

/// `, start = 0, strides = [2, 1]` or `, ids = [...]`.
static ParseResult parseDevices(AsmParser &parser, MeshText &text) {
  if (parser.parseComma())
    return failure();
  text.listed = succeeded(parser.parseOptionalKeyword("ids"));
  if (text.listed)
    return failure(parser.parseEqual() || parseIntegers(parser, text.ids));
  return failure(parser.parseKeyword("start", " or 'ids'") ||
                 parser.parseEqual() || parser.parseInteger(text.start) ||
                 parser.parseComma() || parser.parseKeyword("strides") ||
                 parser.parseEqual() || parseIntegers(parser, text.strides));
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  MeshText text;
  StringRef type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&type) || parser.parseComma())
    return {};
  text.type = type.str();
  if (succeeded(parser.parseOptionalKeyword("host"))) {
    if (parser.parseGreater())
      return {};
    return get(parser.getContext(), DeviceMesh::host());
  }
  auto axis = [&] { return parseAxis(parser, text); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, axis) ||
      parseDevices(parser, text) || parser.parseGreater())
    return {};
  try {
    MeshRef mesh =
        text.listed
            ? DeviceMesh::fromIds(text.type, text.names, text.sizes, text.ids)
            : DeviceMesh::regular(text.type, text.names, text.sizes, text.start,
                                  text.strides);
    return get(parser.getContext(), mesh);
  } catch (const Error &error) {
    parser.emitError(loc) << error.what();
    return {};
  }
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << StringRef(getValue()->str()).drop_front(strlen("mesh"));
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// `S(0)`, `S(0:64)`, `R`, `P`, `P(max)`.
static ParseResult parsePlacement(AsmParser &parser, Placement &placement) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef kind;
  if (parser.parseKeyword(&kind))
    return failure();
  if (kind == "R") {
    placement = Placement::replicate();
    return success();
  }
  if (kind == "S") {
    placement = Placement::shard(0);
    if (parser.parseLParen() || parser.parseInteger(placement.dim))
      return failure();
    if (succeeded(parser.parseOptionalColon()) &&
        parser.parseInteger(placement.unit))
      return failure();
    return parser.parseRParen();
  }
  if (kind != "P")
    return parser.emitError(loc) << "expected a placement S(dim), S(dim:unit), "
                                    "R, P, P(max) or P(min), got "
                                 << kind;
  placement = Placement::partial();
  if (failed(parser.parseOptionalLParen()))
    return success();
  StringRef reduce;
  if (parser.parseKeyword(&reduce) || parser.parseRParen())
    return failure();
  for (ReduceKind candidate :
       {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
    if (reduce == StringRef(toString(candidate))) {
      placement.reduce = candidate;
      return success();
    }
  return parser.emitError(loc)
         << "expected P, P(max) or P(min), got P(" << reduce << ")";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  MeshAttr mesh;
  SmallVector<Placement> placements;
  SMLoc loc = parser.getCurrentLocation();
  auto placement = [&] {
    return parsePlacement(parser, placements.emplace_back());
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, placement) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), mesh,
                                         placements);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printAttribute(getMesh());
  printer << ", " << getSharding().placementsStr() << ">";
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   MeshAttr mesh,
                                   ArrayRef<Placement> placements) {
  int64_t axes = mesh.getValue()->ndim();
  if (static_cast<int64_t>(placements.size()) != axes)
    return emitError() << "sharding: must have one placement per mesh axis ("
                       << axes << "), got " << placements.size();
  return success();
}

Sharding ShardingAttr::getSharding() const {
  return {getMesh().getValue(), std::vector<Placement>(getPlacements().begin(),
                                                       getPlacements().end())};
}

ShardingAttr ShardingAttr::get(MLIRContext *context, const Sharding &sharding) {
  return get(context, MeshAttr::get(context, sharding.mesh),
             sharding.placements);
}

LogicalResult ShardingAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (!tryDType(elementType))
    return emitError() << "tensor: element type must be i1, i32, i64, f16, "
                          "bf16, f32 or f64, got "
                       << elementType;
  if (ShapedType::isDynamicShape(shape))
    return emitError()
           << "tensor: global sizes must be known, got `?`; only tensors with "
              "#dtorch.local have it";
  try {
    getSharding().verify(shape);
  } catch (const Error &error) {
    return emitError() << error.what();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Local
//===----------------------------------------------------------------------===//

Attribute LocalAttr::parse(AsmParser &parser, Type) {
  std::vector<int64_t> shape;
  ShardingAttr sharding;
  if (parser.parseLess() || parseIntegers(parser, shape) ||
      parser.parseComma() || parser.parseAttribute(sharding) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), shape, sharding);
}

void LocalAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getShape(), printer);
  printer << "], ";
  printer.printAttribute(getSharding());
  printer << ">";
}

/// "3x?x8".
static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") +
            (size < 0 ? std::string("?") : std::to_string(size));
  return text;
}

LogicalResult
LocalAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                          function_ref<InFlightDiagnostic()> emitError) const {
  if (failed(getSharding().verifyEncoding(getShape(), elementType, emitError)))
    return failure();
  Shape expected = localTypeShape(getShape(), getSharding().getSharding());
  bool equal = expected.size() == shape.size();
  for (size_t dim = 0; equal && dim < shape.size(); ++dim)
    equal = expected[dim] < 0 ? ShapedType::isDynamic(shape[dim])
                              : expected[dim] == shape[dim];
  if (!equal)
    return emitError() << "tensor: local shape of " << shapeText(getShape())
                       << " must be " << shapeText(expected) << ", got "
                       << shapeText(shape);
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Attribute MemoryAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  int64_t value = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  if (kind != "arena" && kind != "result" && kind != "alias") {
    parser.emitError(loc) << "expected arena, result or alias, got " << kind;
    return {};
  }
  if ((kind != "alias" && parser.parseInteger(value)) || parser.parseGreater())
    return {};
  return get(parser.getContext(), kind, value);
}

void MemoryAttr::print(AsmPrinter &printer) const {
  printer << "<" << getKind();
  if (!isAlias())
    printer << " " << getValue();
  printer << ">";
}
