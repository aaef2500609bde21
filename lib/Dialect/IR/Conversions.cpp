//===- Conversions.cpp - between MLIR and the plain data types ------------===//

#include "dtorch/Dialect/IR/Conversions.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtorch;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

std::optional<DType> dtorch::tryDType(Type type) {
  if (type.isInteger(1))
    return DType::Bool;
  if (type.isSignlessInteger(32))
    return DType::Int32;
  if (type.isSignlessInteger(64))
    return DType::Int64;
  if (type.isF16())
    return DType::Float16;
  if (type.isBF16())
    return DType::BFloat16;
  if (type.isF32())
    return DType::Float32;
  if (type.isF64())
    return DType::Float64;
  return std::nullopt;
}

/// A type as text.
static std::string str(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

DType dtorch::toDType(Type type) {
  if (std::optional<DType> dtype = tryDType(type))
    return *dtype;
  throw Error("tensor: element type must be i1, i32, i64, f16, bf16, f32 or "
              "f64, got " +
                  str(type),
              ErrorKind::Type);
}

Type dtorch::toMLIR(MLIRContext *context, DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return IntegerType::get(context, 1);
  case DType::Int32:
    return IntegerType::get(context, 32);
  case DType::Int64:
    return IntegerType::get(context, 64);
  case DType::Float16:
    return Float16Type::get(context);
  case DType::BFloat16:
    return BFloat16Type::get(context);
  case DType::Float32:
    return Float32Type::get(context);
  case DType::Float64:
    return Float64Type::get(context);
  }
  llvm_unreachable("all element types are listed");
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attribute dtorch::toMLIR(MLIRContext *context, const AttrValue &value) {
  Builder builder(context);
  if (auto *flag = std::get_if<bool>(&value))
    return builder.getBoolAttr(*flag);
  if (auto *integer = std::get_if<int64_t>(&value))
    return builder.getI64IntegerAttr(*integer);
  if (auto *real = std::get_if<double>(&value))
    return builder.getF64FloatAttr(*real);
  if (auto *text = std::get_if<std::string>(&value))
    return builder.getStringAttr(*text);
  return builder.getDenseI64ArrayAttr(std::get<std::vector<int64_t>>(value));
}

AttrValue dtorch::toAttrValue(Attribute attribute) {
  // BoolAttr is an integer attribute too, so it comes first.
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getInt();
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.str();
  if (auto integers = dyn_cast<DenseI64ArrayAttr>(attribute))
    return std::vector<int64_t>(integers.asArrayRef());
  std::string found;
  llvm::raw_string_ostream(found) << attribute;
  throw Error("attribute: must be a bool, an i64, an f64, a string or an "
              "array<i64>, got " +
                  found,
              ErrorKind::Type);
}

DictionaryAttr dtorch::toMLIR(MLIRContext *context, const Attrs &attrs) {
  NamedAttrList list;
  for (const auto &[name, value] : attrs)
    list.append(name, toMLIR(context, value));
  return list.getDictionary(context);
}

Attrs dtorch::toAttrs(DictionaryAttr dictionary) {
  Attrs attrs;
  for (NamedAttribute entry : dictionary)
    attrs.set(entry.getName().getValue(), toAttrValue(entry.getValue()));
  return attrs;
}

//===----------------------------------------------------------------------===//
// Tensor types
//===----------------------------------------------------------------------===//

RankedTensorType dtorch::unplacedType(MLIRContext *context,
                                      const TensorType &type) {
  return RankedTensorType::get(type.shape, toMLIR(context, type.dtype));
}

RankedTensorType dtorch::placedType(MLIRContext *context,
                                    const TensorType &type,
                                    const Sharding &sharding) {
  return RankedTensorType::get(type.shape, toMLIR(context, type.dtype),
                               ShardingAttr::get(context, sharding));
}

RankedTensorType dtorch::localType(MLIRContext *context, const TensorType &type,
                                   const Sharding &sharding) {
  Shape shape = localTypeShape(type.shape, sharding);
  for (int64_t &size : shape)
    size = size < 0 ? ShapedType::kDynamic : size;
  auto local =
      LocalAttr::get(context, type.shape, ShardingAttr::get(context, sharding));
  return RankedTensorType::get(shape, toMLIR(context, type.dtype), local);
}

dtorch::TensorType dtorch::globalType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    throw Error("operand: must be a ranked tensor, got " + str(type),
                ErrorKind::Type);
  ArrayRef<int64_t> shape = tensor.getShape();
  if (auto local = dyn_cast_or_null<LocalAttr>(tensor.getEncoding()))
    shape = local.getShape();
  if (ShapedType::isDynamicShape(shape))
    throw Error("tensor: global sizes must be known, got " + str(type),
                ErrorKind::Type);
  return {Shape(shape), toDType(tensor.getElementType())};
}

ShardingAttr dtorch::shardingAttr(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  if (auto local = dyn_cast_or_null<LocalAttr>(tensor.getEncoding()))
    return local.getSharding();
  return dyn_cast_or_null<ShardingAttr>(tensor.getEncoding());
}

bool dtorch::isLocalType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<LocalAttr>(tensor.getEncoding());
}

//===----------------------------------------------------------------------===//
// Ops and locations
//===----------------------------------------------------------------------===//

Operation *dtorch::createComputeOp(OpBuilder &builder, Location location,
                                   StringRef name, ValueRange operands,
                                   const Attrs &attrs, Type result) {
  MLIRContext *context = builder.getContext();
  OperationState state(location, ("dtorch." + name).str());
  state.addOperands(operands);
  state.addTypes(result);
  state.addAttributes(toMLIR(context, attrs).getValue());
  return builder.create(state);
}

std::string dtorch::locationStr(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return (place.getFilename().getValue() + ":" + Twine(place.getLine()))
        .str();
  if (auto named = dyn_cast<NameLoc>(location))
    return locationStr(named.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return locationStr(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string text = locationStr(part); !text.empty())
        return text;
  return "";
}

Location dtorch::parseLocation(MLIRContext *context, StringRef text) {
  auto [file, line] = text.rsplit(':');
  unsigned number = 0;
  if (file.empty() || line.getAsInteger(10, number))
    return UnknownLoc::get(context);
  return FileLineColLoc::get(context, file, number, 0);
}
