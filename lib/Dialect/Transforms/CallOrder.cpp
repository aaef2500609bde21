//===- CallOrder.cpp - functions in the order of their calls --------------===//

#include "PassSupport.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dtorch;

func::FuncOp dtorch::lookupCallee(func::CallOp call, SymbolTable &symbols) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (callee && !callee.isExternal())
    return callee;
  call.emitError() << "call: no function @" << call.getCallee()
                   << " with a body";
  return {};
}

namespace {
class CallOrder {
public:
  explicit CallOrder(ModuleOp module) : symbols(module) {}
  std::vector<func::FuncOp> order;

  LogicalResult visit(func::FuncOp func) {
    if (done.contains(func))
      return success();
    if (!open.insert(func))
      return func.emitError()
             << "function @" << func.getSymName() << ": must not call itself";
    for (auto call : func.getBody().getOps<func::CallOp>()) {
      func::FuncOp callee = lookupCallee(call, symbols);
      if (!callee || failed(visit(callee)))
        return failure();
    }
    open.remove(func);
    done.insert(func);
    order.push_back(func);
    return success();
  }

private:
  SymbolTable symbols;
  llvm::SetVector<Operation *> open;
  llvm::DenseSet<Operation *> done;
};
} // namespace

FailureOr<std::vector<func::FuncOp>> dtorch::functionsOf(ModuleOp module) {
  std::vector<func::FuncOp> functions;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || !func.getBody().hasOneBlock())
      return func.emitError() << "function @" << func.getSymName()
                              << ": must have a body of one block";
    functions.push_back(func);
  }
  return functions;
}

FailureOr<std::vector<func::FuncOp>> dtorch::calleesFirst(ModuleOp module) {
  FailureOr<std::vector<func::FuncOp>> functions = functionsOf(module);
  if (failed(functions))
    return failure();
  CallOrder walk(module);
  for (func::FuncOp func : *functions)
    if (failed(walk.visit(func)))
      return failure();
  return std::move(walk.order);
}
