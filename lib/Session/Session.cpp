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
};

/// Programs by structure; the one not used for longest leaves first.
class ProgramCache {
public:
  const CachedProgram *find(const std::string &key) {
    auto it = byKey.find(key);
    if (it == byKey.end())
      return nullptr;
    entries.splice(entries.begin(), entries, it->second);
    return &it->second->second;
  }
  /// Replaces a program of that key.
  void insert(const std::string &key, CachedProgram program) {
    constexpr size_t maxPrograms = 64;
    if (auto it = byKey.find(key); it != byKey.end()) {
      it->second->second = std::move(program);
      return;
    }
    if (entries.size() == maxPrograms) {
      byKey.erase(entries.back().first);
      entries.pop_back();
    }
    entries.emplace_front(key, std::move(program));
    byKey[entries.front().first] = entries.begin();
  }

private:
  using Entry = std::pair<std::string, CachedProgram>;
  std::list<Entry> entries;
  std::unordered_map<std::string_view, std::list<Entry>::iterator> byKey;
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
  CachedProgram programOf(const Capture &capture, const std::string &key);
  CachedProgram compile(const Capture &capture, const std::string &key);

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

CachedProgram LocalSession::compile(const Capture &capture,
                                    const std::string &key) {
  int64_t number = programs++;
  std::string dumpDir;
  if (const char *root = std::getenv("DTORCH_DUMP"); root && *root) {
    std::filesystem::path path =
        std::filesystem::path(root) / dumpFolder(capture, number);
    std::filesystem::create_directories(path);
    dumpDir = path.string();
    writeInputs(capture, (path / "inputs.safetensors").string());
  }
  CachedProgram program{
      Executor::local().load(compileCapture(capture, dumpDir)),
      locationsOf(capture)};
  cache.insert(key, program);
  return program;
}

CachedProgram LocalSession::programOf(const Capture &capture,
                                      const std::string &key) {
  if (const CachedProgram *program = cache.find(key)) {
    ++cacheHits;
    return *program;
  }
  return compile(capture, key);
}

void LocalSession::compute(const Capture &capture) {
  std::string key = structureKey(capture);
  CachedProgram program = programOf(capture, key);
  std::vector<DistTensorRef> results;
  try {
    results = Executor::local().run(*program.program, capture.values);
  } catch (const Error &error) {
    // A program compiled for other lines would name those.
    if (error.kind == ErrorKind::Runtime ||
        program.locations == locationsOf(capture))
      throw;
    program = compile(capture, key);
    results = Executor::local().run(*program.program, capture.values);
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
  for (const DistTensorRef &value : parameter.placedAgain)
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
      nodes.push_back(step.node);
      parameters.push_back(step.node->inputs().front());
      if (!findPlaced(*parameters.back(), step.node->normalSharding()))
        missing.push_back(step.node);
    }
  if (!missing.empty())
    compute(dtorch::capture(missing));
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node &node = *nodes[i], &parameter = *parameters[i];
    DistTensorRef value = findPlaced(parameter, node.normalSharding());
    if (!value)
      parameter.placedAgain.push_back(value = node.value());
    node.name = parameter.name;
    node.parameter = true;
    node.origin = parameter.sequence();
    node.setValue(std::move(value));
  }
  return !nodes.empty();
}

void LocalSession::run(const std::vector<NodeRef> &wanted) {
  Capture capture = dtorch::capture(wanted);
  if (placeParameters(capture)) {
    capture = {}; // its references would count as somebody who holds nodes
    capture = dtorch::capture(wanted);
  }
  if (!capture.steps.empty())
    compute(capture);
}
