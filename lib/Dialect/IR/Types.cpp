//===- Types.cpp - types of program ops -----------------------------------===//

#include "dtorch/Dialect/IR/Dtorch.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dtorch;

#define GET_TYPEDEF_CLASSES
#include "dtorch/Dialect/IR/DtorchTypes.cpp.inc"

void DtorchDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dtorch/Dialect/IR/DtorchTypes.cpp.inc"
      >();
}

Type ProgramBufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  ShardingAttr sharding;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma() ||
      parser.parseAttribute(sharding) || parser.parseGreater())
    return {};
  return parser.getChecked<ProgramBufferType>(loc, parser.getContext(), shape,
                                              elementType, sharding);
}

void ProgramBufferType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t size : getShape())
    printer << size << "x";
  printer << getElementType() << ", ";
  printer.printAttribute(getSharding());
  printer << ">";
}

LogicalResult
ProgramBufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                          ArrayRef<int64_t> shape, Type elementType,
                          ShardingAttr sharding) {
  return sharding.verifyEncoding(shape, elementType, emitError);
}
