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

/// Programs by structure; the one not used for longest leaves first.
class ProgramCache {
public:
  std::shared_ptr<LoadedProgram> find(const std::string &key) {
    auto it = byKey.find(key);
    if (it == byKey.end())
      return nullptr;
    entries.splice(entries.begin(), entries, it->second);
    return it->second->second;
  }
  void insert(std::string key, std::shared_ptr<LoadedProgram> program) {
    constexpr size_t maxPrograms = 64;
    if (entries.size() == maxPrograms) {
      byKey.erase(entries.back().first);
      entries.pop_back();
    }
    entries.emplace_front(std::move(key), std::move(program));
    byKey[entries.front().first] = entries.begin();
  }

private:
  using Entry = std::pair<std::string, std::shared_ptr<LoadedProgram>>;
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
  std::shared_ptr<LoadedProgram> programOf(const Capture &capture);

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

std::shared_ptr<LoadedProgram> LocalSession::programOf(const Capture &capture) {
  std::string key = structureKey(capture);
  if (std::shared_ptr<LoadedProgram> program = cache.find(key)) {
    ++cacheHits;
    return program;
  }
  int64_t number = programs++;
  std::string dumpDir;
  if (const char *root = std::getenv("DTORCH_DUMP"); root && *root) {
    std::filesystem::path path =
        std::filesystem::path(root) / dumpFolder(capture, number);
    std::filesystem::create_directories(path);
    dumpDir = path.string();
    writeInputs(capture, (path / "inputs.safetensors").string());
  }
  std::shared_ptr<LoadedProgram> program =
      Executor::local().load(compileCapture(capture, dumpDir));
  cache.insert(std::move(key), program);
  return program;
}

void LocalSession::compute(const Capture &capture) {
  std::shared_ptr<LoadedProgram> program = programOf(capture);
  std::vector<DistTensorRef> results =
      Executor::local().run(*program, capture.values);
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
