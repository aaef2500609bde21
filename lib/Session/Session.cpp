//===- Session.cpp - compiles what was recorded, and runs it --------------===//

#include "dtorch/Session/Session.h"

#include "CompileCapture.h"
#include "dtorch/Runtime/Executor.h"

#include <cstdlib>
#include <filesystem>
#include <list>
#include <unordered_map>

using namespace dtorch;

namespace {

/// A program with the lines of the user that it was compiled for: one of equal
/// structure from other lines uses it too.
struct CachedProgram {
  std::shared_ptr<LoadedProgram> program;
  std::vector<Location> locations;
  StructureRefs refs; ///< what its key points to
};
using CachedProgramRef = std::shared_ptr<const CachedProgram>;

/// Programs by structure; the one not used for longest leaves first.
class ProgramCache {
public:
  CachedProgramRef find(const StructureKey &key) {
    auto it = byKey.find(&key);
    if (it == byKey.end())
      return nullptr;
    entries.splice(entries.begin(), entries, it->second);
    return it->second->second;
  }
  /// Replaces a program of that key.
  void insert(StructureKey key, CachedProgramRef program) {
    constexpr size_t maxPrograms = 64;
    if (auto it = byKey.find(&key); it != byKey.end()) {
      it->second->second = std::move(program);
      return;
    }
    if (entries.size() == maxPrograms) {
      byKey.erase(&entries.back().first);
      entries.pop_back();
    }
    entries.emplace_front(std::move(key), std::move(program));
    byKey[&entries.front().first] = entries.begin();
  }

private:
  using Entry = std::pair<StructureKey, CachedProgramRef>;
  struct Hash {
    size_t operator()(const StructureKey *key) const { return key->hash; }
  };
  struct Equal {
    bool operator()(const StructureKey *a, const StructureKey *b) const {
      return *a == *b;
    }
  };
  std::list<Entry> entries;
  std::unordered_map<const StructureKey *, std::list<Entry>::iterator, Hash,
                     Equal>
      byKey;
};

class LocalSession : public Session {
public:
  void flush(const std::vector<NodeRef> &wanted) override {
    std::lock_guard<std::mutex> guard(mutex);
    run(wanted);
  }
  void sync(Graph &graph) override {
    std::lock_guard<std::mutex> guard(mutex);
    run(graph.pendingNodes());
  }
  CompileCounters counters() const override {
    return {programs, cacheHits, passWork()};
  }

private:
  void run(const std::vector<NodeRef> &wanted);
  bool placeParameters(const Capture &capture);
  void compute(const Capture &capture);
  CachedProgramRef programOf(const Capture &capture, const StructureKey &key);
  CachedProgramRef compile(const Capture &capture, const StructureKey &key);

  std::mutex mutex;
  ProgramCache cache;
  std::atomic<int64_t> programs{0}, cacheHits{0};
};

} // namespace

Session &Session::local() {
  static LocalSession session;
  return session;
}

/// "<n>-<name>": the name is that of the outermost module of the first call.
static std::string dumpFolder(const Capture &capture, int64_t number) {
  std::string name;
  for (const Capture::Step &step : capture.steps) {
    const Scope *scope = step.node->scope().get();
    while (scope && scope->parent)
      scope = scope->parent.get();
    if (scope && !scope->path.empty()) {
      name = scope->path.substr(0, scope->path.find('.'));
      break;
    }
  }
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c)) && c != '_')
      c = '_';
  return std::to_string(number) + "-" + (name.empty() ? "program" : name);
}

static std::vector<Location> locationsOf(const Capture &capture) {
  std::vector<Location> locations;
  for (const Capture::Step &step : capture.steps)
    locations.push_back(step.node->location());
  return locations;
}

CachedProgramRef LocalSession::compile(const Capture &capture,
                                       const StructureKey &key) {
  int64_t number = programs++;
  std::string dumpDir;
  if (const char *root = std::getenv("DTORCH_DUMP"); root && *root) {
    std::filesystem::path path =
        std::filesystem::path(root) / dumpFolder(capture, number);
    std::filesystem::create_directories(path);
    dumpDir = path.string();
    writeInputs(capture, (path / "inputs.safetensors").string());
  }
  auto program = std::make_shared<const CachedProgram>(
      CachedProgram{Executor::local().load(compileCapture(capture, dumpDir)),
                    locationsOf(capture), structureRefs(capture)});
  cache.insert(key, program);
  return program;
}

CachedProgramRef LocalSession::programOf(const Capture &capture,
                                         const StructureKey &key) {
  if (CachedProgramRef program = cache.find(key)) {
    ++cacheHits;
    return program;
  }
  return compile(capture, key);
}

/// The values of the inputs, and the references that keep them.
struct Arguments {
  explicit Arguments(const Capture &capture) {
    list.reserve(capture.inputs.size());
    for (const Node *input : capture.inputs) {
      if (input->isScalar()) {
        list.push_back({nullptr, input->scalarData(), input->type().dtype});
        continue;
      }
      if (!input->computed())
        throw Error("value: it was recorded to be replayed, so it has none; "
                    "return it from the function that dtorch.compile records",
                    ErrorKind::Runtime);
      values.push_back(input->value());
      list.push_back({values.back().get(), nullptr, {}});
    }
  }
  std::vector<RunArgument> list;
  std::vector<DistTensorRef> values;
};

void LocalSession::compute(const Capture &capture) {
  StructureKey key = structureKey(capture);
  CachedProgramRef program = programOf(capture, key);
  Arguments arguments(capture);
  std::vector<DistTensorRef> results;
  try {
    results = Executor::local().run(*program->program, arguments.list);
  } catch (const Error &error) {
    // A program compiled for other lines would name those.
    if (error.kind == ErrorKind::Runtime ||
        program->locations == locationsOf(capture))
      throw;
    program = compile(capture, key);
    results = Executor::local().run(*program->program, arguments.list);
  }
  auto result = results.begin();
  for (const Capture::Step &step : capture.steps)
    if (step.stored)
      step.node->setValue(std::move(*result++));
}

/// Whether a step puts a parameter somewhere else among devices.
static bool placesParameter(const Node &node) {
  return node.kind() == Node::Kind::Redistribute &&
         node.inputs().front()->isInput() && node.inputs().front()->parameter &&
         !node.normalSharding().isHost();
}

/// The parameter's value under that sharding, if it was computed before.
static DistTensorRef findPlaced(const Node &parameter,
                                const Sharding &sharding) {
  for (const DistTensorRef &value : parameter.info().placedAgain)
    if (value->type.sharding == sharding)
      return value;
  return nullptr;
}

/// Gives redistributes of parameters their value, so that they are inputs of
/// the program and not work of every run. New ones are computed here, in one
/// program of their own. Whether there were any.
bool LocalSession::placeParameters(const Capture &capture) {
  std::vector<NodeRef> nodes, missing, parameters;
  for (const Capture::Step &step : capture.steps)
    if (placesParameter(*step.node)) {
      nodes.emplace_back(step.node);
      parameters.push_back(step.node->inputs().front());
      if (!findPlaced(*parameters.back(), step.node->normalSharding()))
        missing.emplace_back(step.node);
    }
  if (!missing.empty())
    compute(dtorch::capture(missing));
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node &node = *nodes[i], &parameter = *parameters[i];
    DistTensorRef value = findPlaced(parameter, node.normalSharding());
    if (!value)
      parameter.editInfo().placedAgain.push_back(value = node.value());
    node.parameter = true;
    node.editInfo().name = parameter.info().name;
    node.editInfo().origin = parameter.sequence();
    if (!node.computed())
      node.setValue(std::move(value));
  }
  return !nodes.empty();
}

void LocalSession::run(const std::vector<NodeRef> &wanted) {
  Capture capture = dtorch::capture(wanted);
  if (placeParameters(capture))
    capture = dtorch::capture(wanted);
  if (!capture.steps.empty())
    compute(capture);
}
