//===- FactoryRule.cpp - arange, full, random -----------------------------===//
//
// Operands are 0-dim. The values depend on global positions only, so a device
// can make any box of the result; forward inference picks R.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace dtorch;

static void checkKind(const OpCall &call) {
  const AttrValue *kind = call.attrs.find("kind");
  if (!kind)
    return;
  const std::string &name = std::get<std::string>(*kind);
  if (name != "normal" && name != "uniform")
    failCall(call, "kind must be normal or uniform, got '" + name + "'");
  if (!isFloating(parseDType(call.attrs.getString("dtype"))))
    failCall(call,
             "dtype must be floating, got " + call.attrs.getString("dtype"),
             ErrorKind::Type);
}

BoundRule dtorch::factoryRule(const OpCall &call) {
  for (size_t i = 0; i < call.operands.size(); ++i)
    if (!call.operands[i].shape.empty())
      failCall(call, operandName(call, i) + " must have 0 dims, got shape " +
                         toString(call.operands[i].shape));
  checkKind(call);
  Shape shape;
  if (call.attrs.find("shape")) {
    shape = shapeAttr(call);
  } else {
    shape = {call.attrs.getInt("size")};
    if (shape[0] < 0)
      failCall(call,
               "size must be at least 0, got " + std::to_string(shape[0]));
  }
  RuleBuilder builder(call);
  builder.setResultShape(shape);
  for (size_t d = 0; d < shape.size(); ++d)
    builder.setResult(d, builder.addFactor("d" + std::to_string(d), shape[d]));
  return builder.take();
}
