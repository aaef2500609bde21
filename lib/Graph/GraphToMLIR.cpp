//===- GraphToMLIR.cpp - the global phase of a capture --------------------===//

#include "dtorch/Graph/GraphToMLIR.h"

#include "dtorch/Dialect/IR/CollectiveOps.h"
#include "dtorch/Dialect/IR/Conversions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace dtorch;

namespace {

class Builder {
public:
  Builder(mlir::MLIRContext &context, const Capture &capture,
          const Outline &outline)
      : context(context), builder(&context), capture(capture),
        outline(outline) {}

  mlir::OwningOpRef<mlir::ModuleOp> build();

private:
  mlir::Location location(const Location &place);
  mlir::Location functionLocation(const Outline::Function &function);
  mlir::Type argumentType(int64_t function, size_t argument);
  void findPlacedArguments();
  bool isPlaced(const Node &node) const { return !node.use(); }
  void buildFunction(int64_t number);
  mlir::Value buildStep(const Outline::Item &item, mlir::ValueRange operands);
  mlir::ValueRange buildCall(const Outline::Item &item,
                             mlir::SmallVector<mlir::Value> operands);
  void annotateMain(mlir::func::FuncOp main);

  mlir::MLIRContext &context;
  mlir::OpBuilder builder;
  const Capture &capture;
  const Outline &outline;
  /// Per function and argument: whether it carries a sharding at every call.
  std::vector<std::vector<bool>> placedArguments;
  std::vector<mlir::func::FuncOp> functions;
};

} // namespace

mlir::Location Builder::location(const Location &place) {
  if (!place.file)
    return mlir::UnknownLoc::get(&context);
  return mlir::FileLineColLoc::get(&context, *place.file,
                                   static_cast<unsigned>(place.line), 0);
}

mlir::Location Builder::functionLocation(const Outline::Function &function) {
  if (function.items.empty())
    return mlir::UnknownLoc::get(&context);
  const Outline::Item &item = function.items.front();
  return location(item.step >= 0 ? capture.steps[item.step].node->location()
                                 : item.location);
}

/// An argument of a repeated function has a sharding in the IR if it has the
/// same one at every call: inputs, parameters and redistributed values have.
void Builder::findPlacedArguments() {
  for (const Outline::Function &function : outline.functions)
    placedArguments.emplace_back(function.arguments.size(), true);
  const Outline::Function &main = outline.functions.back();
  // The nodes of main's values; of a call's results those of the first call.
  std::vector<const Node *> values = main.arguments;
  for (const Outline::Item &item : main.items) {
    if (item.step >= 0) {
      values.push_back(capture.steps[item.step].node);
      continue;
    }
    const Outline::Function &callee = outline.functions[item.function];
    for (size_t i = 0; i < callee.arguments.size(); ++i) {
      const Node &node = *values[item.operands[i]];
      if (!isPlaced(node) ||
          !(node.normalSharding() == callee.arguments[i]->normalSharding()))
        placedArguments[item.function][i] = false;
    }
    for (int64_t result : callee.results) {
      int64_t local = result - static_cast<int64_t>(callee.arguments.size());
      values.push_back(capture.steps[callee.items[local].step].node);
    }
  }
}

mlir::Type Builder::argumentType(int64_t function, size_t argument) {
  const Node &node = *outline.functions[function].arguments[argument];
  return placedArguments[function][argument]
             ? placedType(&context, node.type(), node.normalSharding())
             : unplacedType(&context, node.type());
}

mlir::Value Builder::buildStep(const Outline::Item &item,
                               mlir::ValueRange operands) {
  const Node &node = *capture.steps[item.step].node;
  mlir::Location loc = location(node.location());
  if (const OpUseRef &use = node.use()) {
    mlir::Operation *op =
        createComputeOp(builder, loc, use->op->name, operands, use->attrs,
                        unplacedType(&context, node.type()));
    if (node.strict())
      op->setDiscardableAttr(kStrictAttr, builder.getUnitAttr());
    return op->getResult(0);
  }
  return RedistributeOp::create(
      builder, loc, placedType(&context, node.type(), node.normalSharding()),
      operands.front());
}

mlir::ValueRange Builder::buildCall(const Outline::Item &item,
                                    mlir::SmallVector<mlir::Value> operands) {
  mlir::func::FuncOp callee = functions[item.function];
  mlir::Location loc = location(item.location);
  for (auto [operand, type] :
       llvm::zip_equal(operands, callee.getArgumentTypes()))
    if (operand.getType() != type)
      operand =
          mlir::UnrealizedConversionCastOp::create(builder, loc, type, operand)
              .getResult(0);
  auto call = mlir::func::CallOp::create(builder, loc, callee, operands);
  call->setDiscardableAttr(kModuleAttr, builder.getStringAttr(item.modulePath));
  return call.getResults();
}

void Builder::buildFunction(int64_t number) {
  const Outline::Function &function = outline.functions[number];
  mlir::SmallVector<mlir::Type> argumentTypes;
  for (size_t i = 0; i < function.arguments.size(); ++i)
    argumentTypes.push_back(argumentType(number, i));
  mlir::Location loc = functionLocation(function);
  auto func = mlir::func::FuncOp::create(
      builder, loc, function.name, builder.getFunctionType(argumentTypes, {}));
  functions.push_back(func);
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *body = func.addEntryBlock();
  for (mlir::BlockArgument argument : body->getArguments())
    argument.setLoc(mlir::UnknownLoc::get(&context)); // names say more
  builder.setInsertionPointToStart(body);

  mlir::SmallVector<mlir::Value> values(body->getArguments());
  for (const Outline::Item &item : function.items) {
    mlir::SmallVector<mlir::Value> operands;
    for (int64_t operand : item.operands)
      operands.push_back(values[operand]);
    if (item.step >= 0)
      values.push_back(buildStep(item, operands));
    else
      llvm::append_range(values, buildCall(item, std::move(operands)));
  }
  mlir::SmallVector<mlir::Value> results;
  for (int64_t result : function.results)
    results.push_back(values[result]);
  mlir::func::ReturnOp::create(builder, loc, results);
  func.setFunctionType(builder.getFunctionType(
      argumentTypes, mlir::ValueRange(results).getTypes()));
  if (function.name != "main")
    func.setPrivate();
}

/// Names arguments and results, and marks parameters.
void Builder::annotateMain(mlir::func::FuncOp main) {
  std::vector<std::string> names = argumentNames(capture);
  for (size_t i = 0; i < names.size(); ++i) {
    main.setArgAttr(i, kNameAttr, builder.getStringAttr(names[i]));
    if (capture.inputs[i]->parameter)
      main.setArgAttr(i, kParameterAttr, builder.getUnitAttr());
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    main.setResultAttr(i, kNameAttr,
                       builder.getStringAttr("output" + std::to_string(i)));
}

mlir::OwningOpRef<mlir::ModuleOp> Builder::build() {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder, mlir::UnknownLoc::get(&context));
  module.get()->setAttr(kPhaseAttr, builder.getStringAttr("global"));
  builder.setInsertionPointToEnd(module->getBody());
  findPlacedArguments();
  for (size_t i = 0; i < outline.functions.size(); ++i)
    buildFunction(static_cast<int64_t>(i));
  annotateMain(functions.back());
  return module;
}

mlir::OwningOpRef<mlir::ModuleOp>
dtorch::buildGlobalModule(mlir::MLIRContext &context, const Capture &capture,
                          const Outline &outline) {
  return Builder(context, capture, outline).build();
}
