//===- CompileCapture.cpp - a capture becomes a program -------------------===//

#include "CompileCapture.h"

#include "dtorch/Graph/GraphToMLIR.h"
#include "dtorch/Target/Compile.h"

#include <cstdlib>

using namespace dtorch;

/// The types of the program's results.
static std::vector<BufferType> resultTypes(const Program &program) {
  const ProgramFunction &entry = program.entry();
  std::vector<BufferType> types(entry.resultNames.size());
  for (const ProgramBuffer &buffer : entry.buffers)
    if (buffer.kind == ProgramBuffer::Kind::Result)
      types.at(buffer.index) = buffer.type;
  return types;
}

/// The law that recording and the passes infer the same.
static void checkInference(const Capture &capture, const Program &program) {
  std::vector<BufferType> types = resultTypes(program);
  auto type = types.begin();
  for (const Capture::Step &step : capture.steps) {
    if (!step.stored)
      continue;
    const Node &node = *step.node;
    BufferType recorded{node.type().shape, node.type().dtype,
                        node.normalSharding()};
    if (type == types.end() || !(*type == recorded))
      withLocation(node.location(), [&] {
        throw Error("internal: " + std::string(node.opName()) +
                        ": recording inferred " + recorded.str() +
                        ", the passes " +
                        (type == types.end() ? "no result" : type->str()),
                    ErrorKind::Runtime);
      });
    ++type;
  }
}

static bool roundtripWanted() {
  const char *value = std::getenv("DTORCH_ROUNDTRIP");
  return value && *value && std::string_view(value) != "0";
}

Program dtorch::compileCapture(const Capture &capture,
                               const std::string &dumpDir) {
  // A context of its own: what it interns goes away with it.
  mlir::DialectRegistry registry;
  registerDtorchDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();

  mlir::OwningOpRef<mlir::ModuleOp> module =
      buildGlobalModule(context, capture, outlineModuleCalls(capture));
  CompileOptions options;
  options.dumpDir = dumpDir;
  options.roundtrip = roundtripWanted();
  Program program = compileToProgram(module.release(), options);
  checkInference(capture, program);
  return program;
}
