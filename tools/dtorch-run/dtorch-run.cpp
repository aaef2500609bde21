//===- dtorch-run.cpp - runs IR without Python ----------------------------===//
//
// Takes a module of any phase, compiles what is left to do, and runs it on
// virtual devices.
//
//===----------------------------------------------------------------------===//

#include "RunProgram.h"
#include "SafeTensors.h"

#include "dtorch/Dialect/Transforms/Passes.h"
#include "dtorch/Runtime/Executor.h"
#include "dtorch/Target/Compile.h"
#include "dtorch/Target/ProgramTranslation.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstdlib>

using namespace dtorch;
namespace cl = llvm::cl;

static cl::OptionCategory category("dtorch-run options");

static cl::opt<std::string> file(cl::Positional, cl::desc("<module.mlir>"),
                                 cl::Required, cl::cat(category));
static cl::list<std::string>
    weights("weights", cl::CommaSeparated, cl::cat(category),
            cl::desc("safetensors files or folders with parameters"));
static cl::list<std::string>
    inputs("inputs", cl::CommaSeparated, cl::cat(category),
           cl::desc("safetensors files with the other arguments"));
static cl::opt<std::string> outputs("outputs", cl::cat(category),
                                    cl::desc("safetensors file to write"));
static cl::opt<bool> printResults("print", cl::cat(category),
                                  cl::desc("print the results"));
static cl::opt<std::string> entry("entry", cl::cat(category),
                                  cl::desc("which public function to run"));
static cl::opt<std::string>
    compare("compare", cl::ValueOptional, cl::cat(category),
            cl::value_desc("expected,found"),
            cl::desc("run two functions on the same random arguments and "
                     "compare (default single,sharded)"));
static cl::opt<bool>
    randomArguments("random", cl::cat(category),
                    cl::desc("draw arguments that no file has"));
static cl::opt<uint64_t> seed("seed", cl::init(0), cl::cat(category),
                              cl::desc("of random arguments"));
static cl::opt<bool>
    normal("normal", cl::cat(category),
           cl::desc("draw normal numbers; default: whole ones, exact in sums"));
static cl::opt<int64_t> maxInt("max-int", cl::init(3), cl::cat(category),
                               cl::desc("largest whole number drawn"));
static cl::opt<double> relative("rtol", cl::init(1e-5), cl::cat(category),
                                cl::desc("relative tolerance of --compare"));
static cl::opt<double> absolute("atol", cl::init(1e-6), cl::cat(category),
                                cl::desc("absolute tolerance of --compare"));
static cl::opt<bool> counters("counters", cl::cat(category),
                              cl::desc("print collectives: count, bytes"));
static cl::opt<int> devices("devices", cl::init(0), cl::cat(category),
                            cl::desc("number of virtual devices"));
static cl::opt<std::string> dump("dump", cl::cat(category),
                                 cl::desc("folder for the text of each phase"));
static cl::opt<bool>
    strict("strict", cl::cat(category),
           cl::desc("placements that match no row are an error"));
static cl::opt<bool>
    remarks("remarks", cl::cat(category),
            cl::desc("print a remark for each inserted redistribute"));

static cl::opt<bool> passWorkWanted(
    "pass-work", cl::cat(category),
    cl::desc("compile only; print the number of ops that passes worked on"));
static cl::opt<bool> printProgram(
    "print-program", cl::cat(category),
    cl::desc("compile only; print the program, translated there and back"));

/// Compiles the file to the program phase.
static mlir::OwningOpRef<mlir::ModuleOp> compile(mlir::MLIRContext &context) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(file);
  if (!buffer)
    throw Error(file + ": cannot read: " + buffer.getError().message());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parseModule(context, (*buffer)->getBuffer(), file);
  CompileOptions options;
  options.dumpDir = dump;
  options.strict = strict;
  const char *roundtrip = std::getenv("DTORCH_ROUNDTRIP");
  options.roundtrip = roundtrip && std::string_view(roundtrip) == "1";
  std::vector<std::string> texts;
  lowerToProgramPhase(module, options, &texts);
  if (remarks)
    for (const std::string &text : texts)
      llvm::errs() << text << "\n";
  return module;
}

static RandomOptions randomOptions() { return {seed, normal, maxInt}; }

static void drawMissing(const Program &program, HostTensors &arguments) {
  for (const auto &[name, type] : argumentTypes(program))
    if (!arguments.contains(name))
      arguments[name] = randomTensor(name, type, randomOptions());
}

static void printCounters() {
  for (const auto &[kind, counter] : communicationCounters())
    if (counter.count)
      llvm::outs() << kind << ": " << counter.count << " (" << counter.bytes
                   << " bytes)\n";
}

static int runOne(mlir::ModuleOp module) {
  Program program = toProgram(module, std::string(entry));
  HostTensors arguments;
  for (const std::string &path : weights)
    readSafeTensors(path, arguments);
  for (const std::string &path : inputs)
    readSafeTensors(path, arguments);
  if (randomArguments)
    drawMissing(program, arguments);
  HostTensors results = runProgram(std::move(program), arguments);
  if (!outputs.empty())
    writeSafeTensors(outputs, results);
  if (printResults || outputs.empty())
    for (const auto &[name, tensor] : results)
      llvm::outs() << name << ": " << str(tensor) << "\n";
  return 0;
}

/// Largest difference, infinite where one is NaN or the signs of infinity
/// differ. `within` becomes false where it is beyond the tolerances.
static double difference(const HostTensor &expected, const HostTensor &found,
                         bool &within) {
  std::vector<double> a = toNumbers(expected), b = toNumbers(found);
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    bool equal = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    double distance = equal ? 0 : std::abs(a[i] - b[i]);
    if (std::isnan(distance))
      distance = HUGE_VAL;
    within &= equal || distance <= absolute + relative * std::abs(a[i]);
    largest = std::max(largest, distance);
  }
  return largest;
}

static int runCompare(mlir::ModuleOp module) {
  llvm::StringRef names = compare.empty() ? llvm::StringRef("single,sharded")
                                          : llvm::StringRef(compare);
  auto [expectedName, foundName] = names.split(',');
  Program expectedProgram = toProgram(module, expectedName);
  Program foundProgram = toProgram(module, foundName);
  if (argumentTypes(expectedProgram) != argumentTypes(foundProgram))
    throw Error("--compare: @" + expectedName.str() + " and @" +
                foundName.str() +
                " must have arguments of the same names and types");
  HostTensors arguments;
  drawMissing(expectedProgram, arguments);
  HostTensors expected = runProgram(std::move(expectedProgram), arguments);
  resetCommunicationCounters();
  HostTensors found = runProgram(std::move(foundProgram), arguments);

  double largest = 0;
  bool within = true;
  for (const auto &[name, tensor] : expected) {
    auto it = found.find(name);
    if (it == found.end() || !(it->second.type == tensor.type))
      throw Error("--compare: result " + name + " of @" + expectedName.str() +
                  " must be one of @" + foundName.str() + ", of type " +
                  tensor.type.str());
    largest = std::max(largest, difference(tensor, it->second, within));
  }
  llvm::outs() << "compared " << expected.size() << " outputs: max difference "
               << llvm::format("%g", largest) << "\n";
  if (!within)
    llvm::errs() << "dtorch-run: error: differences are beyond rtol "
                 << llvm::format("%g", relative.getValue()) << " and atol "
                 << llvm::format("%g", absolute.getValue()) << "\n";
  return within ? 0 : 1;
}

static int run() {
  if (devices > 0)
    setenv("DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE",
           std::to_string(devices).c_str(), /*overwrite=*/1);
  mlir::DialectRegistry registry;
  registerDtorchDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module = compile(context);
  if (passWorkWanted) {
    llvm::outs() << "passes worked on " << passWork() << " ops\n";
    return 0;
  }
  if (printProgram) {
    Program program = toProgram(*module, std::string(entry));
    llvm::outs() << printModule(*toModule(context, program));
    return 0;
  }
  int code =
      compare.getNumOccurrences() ? runCompare(*module) : runOne(*module);
  if (counters)
    printCounters();
  return code;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "runs dtorch IR on virtual devices\n");
  try {
    return run();
  } catch (const std::exception &error) {
    llvm::errs() << "dtorch-run: " << error.what() << "\n";
    return 1;
  }
}
