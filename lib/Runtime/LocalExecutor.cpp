//===- LocalExecutor.cpp - programs on virtual devices --------------------===//
#include "dtorch/Runtime/LocalExecutor.h"

#include "dtorch/Runtime/Runner.h"
#include "dtorch/Runtime/Threads.h"
#include "dtorch/Support/Error.h"

#include <cstdlib>
#include <set>
#include <unistd.h>

namespace dtorch {

namespace {

constexpr const char *deviceVariable =
    "DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE";

/// An integer out of the environment; throws Error if it is none above 0. The
/// limit keeps arithmetic on it from overflowing.
int64_t environmentInt(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return otherwise;
  constexpr long most = 1'000'000'000;
  char *end = nullptr;
  long value = std::strtol(text, &end, 10);
  if (*end || value < 1 || value > most)
    throw Error(std::string(name) + ": must be a number from 1 to 10^9, got '" +
                text + "'");
  return value;
}

int64_t now() {
  return std::chrono::nanoseconds(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool environmentFlag(const char *name) {
  const char *text = std::getenv(name);
  return text && *text && std::string_view(text) != "0";
}

std::vector<const ProgramBuffer *> buffersOf(const ProgramFunction &function,
                                             ProgramBuffer::Kind kind) {
  std::vector<const ProgramBuffer *> buffers;
  for (const ProgramBuffer &buffer : function.buffers)
    if (buffer.kind == kind) {
      if (buffers.size() <= static_cast<size_t>(buffer.index))
        buffers.resize(buffer.index + 1);
      buffers[buffer.index] = &buffer;
    }
  return buffers;
}

/// A host tensor's one storage, or the part of a device; null if it has none.
std::byte *partOf(const DistTensor &tensor, int64_t device) {
  const Sharding &sharding = tensor.type.sharding;
  if (sharding.isHost())
    return static_cast<std::byte *>(tensor.locals[0]->data());
  if (device == hostDevice)
    return nullptr;
  std::optional<int64_t> index = sharding.mesh->indexOfDevice(device);
  return index ? static_cast<std::byte *>(tensor.locals[*index]->data())
               : nullptr;
}

std::byte *partOf(const RunArgument &argument, int64_t device) {
  if (argument.scalar) // only read
    return static_cast<std::byte *>(const_cast<void *>(argument.scalar));
  return partOf(*argument.tensor, device);
}

bool isHost(const RunArgument &argument) {
  return argument.scalar || argument.tensor->type.sharding.isHost();
}

/// "argument 3 'fc.weight'"
std::string argumentSubject(const LocalProgram &program, size_t i) {
  std::string name = program.source.entry().arguments[i].name;
  std::string subject = "argument " + std::to_string(i);
  return name.empty() ? subject : subject + " '" + name + "'";
}

[[noreturn]] void throwArgumentType(const LocalProgram &program, size_t i,
                                    const std::string &found) {
  const BufferType &expected = program.arguments[i]->type;
  throw Error(argumentSubject(program, i) + ": must be " + expected.str() +
                  " on " + expected.sharding.mesh->str() + ", got " + found,
              ErrorKind::Type);
}

bool sameLayout(const BufferType &type, const BufferType &expected) {
  return type.sharding == expected.sharding ||
         (sameMesh(type.sharding.mesh, expected.sharding.mesh) &&
          sameLayout(type.sharding, expected.sharding, type.shape));
}

void checkScalar(const LocalProgram &program, size_t i, DType dtype) {
  const BufferType &expected = program.arguments[i]->type;
  if (!expected.shape.empty() || expected.dtype != dtype ||
      !expected.sharding.isHost())
    throwArgumentType(program, i,
                      "a number of " + std::string(toString(dtype)));
}

void checkArgument(const LocalProgram &program, size_t i,
                   const RunArgument &argument) {
  if (argument.scalar)
    return checkScalar(program, i, argument.scalarType);
  if (!argument.tensor)
    throw Error(argumentSubject(program, i) + ": is missing");
  const DistTensor &tensor = *argument.tensor;
  const BufferType &expected = program.arguments[i]->type;
  if (tensor.type.shape != expected.shape ||
      tensor.type.dtype != expected.dtype || !sameLayout(tensor.type, expected))
    throwArgumentType(program, i,
                      tensor.type.str() + " on " +
                          tensor.type.sharding.mesh->str());
  const std::vector<int64_t> &bytes = program.argumentBytes[i];
  if (tensor.locals.size() != bytes.size())
    throw Error(argumentSubject(program, i) + ": must have " +
                std::to_string(bytes.size()) + " parts, got " +
                std::to_string(tensor.locals.size()));
  for (size_t part = 0; part < bytes.size(); ++part)
    if (!tensor.locals[part] ||
        static_cast<int64_t>(tensor.locals[part]->size()) < bytes[part])
      throw Error(argumentSubject(program, i) + ": part " +
                  std::to_string(part) + " must have " +
                  std::to_string(bytes[part]) + " bytes");
}

std::vector<int64_t> partBytes(const BufferType &type) {
  std::vector<int64_t> bytes;
  for (int64_t i = 0; i < type.sharding.mesh->numDevices(); ++i)
    bytes.push_back(type.boxOf(i).numElements() * itemSize(type.dtype));
  return bytes;
}

std::shared_ptr<DistTensor> allocateResult(const BufferType &type) {
  auto tensor = std::make_shared<DistTensor>(DistTensor{type, {}});
  for (int64_t i = 0; i < type.sharding.mesh->numDevices(); ++i)
    tensor->locals.push_back(
        Storage::allocate(type.boxOf(i).numElements() * itemSize(type.dtype)));
  return tensor;
}

/// Replicas hold the same bits, so they keep one storage.
void shareReplicas(DistTensor &tensor) {
  const Sharding &sharding = tensor.type.sharding;
  const DeviceMesh &mesh = *sharding.mesh;
  for (int64_t i = 0; i < mesh.numDevices(); ++i) {
    Shape coordinates = mesh.coordinates(i);
    for (size_t a = 0; a < coordinates.size(); ++a)
      if (sharding.placements[a].isReplicate())
        coordinates[a] = 0;
    tensor.locals[i] = tensor.locals[mesh.indexOf(coordinates)];
  }
}

} // namespace

/// What the threads of one run share.
struct LocalExecutor::Run {
  Run(std::span<const RunArgument> arguments,
      const std::vector<std::shared_ptr<DistTensor>> &results, int64_t running)
      : arguments(arguments), results(results), running(running) {}

  const std::span<const RunArgument> arguments;
  const std::vector<std::shared_ptr<DistTensor>> &results;
  std::atomic<bool> stop = false;

  std::mutex mutex;
  std::condition_variable finished;
  int64_t running;
  std::exception_ptr firstError;

  void fail(std::exception_ptr error, LocalCommunicator &communicator) {
    {
      std::lock_guard lock(mutex);
      if (!firstError)
        firstError = error;
    }
    stop = true;
    communicator.abort();
  }
};

LocalExecutor::LocalExecutor() : owner(getpid()) {}

LocalExecutor::~LocalExecutor() {
  // In a forked child the threads do not exist and cannot be joined.
  if (getpid() != owner)
    for (auto &[device, thread] : threads)
      thread.release();
}

int64_t LocalExecutor::numDevices() const {
  return environmentInt(deviceVariable, 8);
}

std::shared_ptr<LoadedProgram> LocalExecutor::load(Program program) {
  verify(program);
  std::lock_guard lock(mutex);
  auto loaded = std::make_shared<LocalProgram>();
  loaded->source = std::move(program);
  std::set<int64_t> devices;
  for (const ProgramFunction &function : loaded->source.functions)
    for (const ProgramBuffer &buffer : function.buffers) {
      const DeviceMesh &mesh = *buffer.type.sharding.mesh;
      if (mesh.isHost())
        continue;
      if (mesh.deviceType() != "cpu")
        throw Error("mesh: devices of type '" + mesh.deviceType() +
                        "' are not available yet; use \"cpu\"",
                    ErrorKind::Absent);
      if (mesh.requiredWorldSize() > numDevices())
        throw Error("mesh: " + mesh.str() + " needs " +
                    std::to_string(mesh.requiredWorldSize()) +
                    " devices, found " + std::to_string(numDevices()) +
                    "; set " + deviceVariable);
      for (int64_t i = 0; i < mesh.numDevices(); ++i)
        devices.insert(mesh.deviceAt(i));
    }
  OneThread oneThread;
  bool checkReplicas = environmentFlag("DTORCH_CHECK_REPLICAS");
  loaded->host =
      bindProgram(loaded->source, hostDevice, communicator, checkReplicas);
  for (int64_t device : devices)
    loaded->devices.push_back(
        bindProgram(loaded->source, device, communicator, checkReplicas));
  const ProgramFunction &entry = loaded->source.entry();
  loaded->arguments = buffersOf(entry, ProgramBuffer::Kind::Argument);
  loaded->results = buffersOf(entry, ProgramBuffer::Kind::Result);
  for (const ProgramBuffer *argument : loaded->arguments)
    loaded->argumentBytes.push_back(partBytes(argument->type));
  return loaded;
}

void LocalExecutor::ensureThreads(const LocalProgram &program) {
  if (threads.empty())
    owner = getpid();
  if (getpid() != owner)
    throw Error(
        "executor: the process was forked after dtorch started its devices; "
        "start new processes with the spawn method",
        ErrorKind::Runtime);
  for (const BoundProgram &bound : program.devices) {
    std::unique_ptr<DeviceThread> &thread = threads[bound.device];
    if (!thread)
      thread = std::make_unique<DeviceThread>(bound.device);
  }
}

void LocalExecutor::runDevice(Run &run, BoundProgram &bound, std::byte *arena) {
  try {
    BoundFunction &entry = bound.entry();
    for (size_t i = 0; i < run.arguments.size(); ++i)
      entry.slots[entry.argumentSlots[i]] = {
          partOf(run.arguments[i], bound.device), isHost(run.arguments[i])};
    for (size_t i = 0; i < run.results.size(); ++i)
      entry.slots[entry.resultSlots[i]] = {
          partOf(*run.results[i], bound.device), false};
    for (const BoundFunction::InPlace &value : entry.inPlace)
      entry.slots[value.slot] = {
          entry.slots[value.resultSlot].data + value.byte, false};
    int64_t first = 0;
    began.compare_exchange_strong(first, now());
    Runner(bound.device, run.stop).run(entry, arena);
  } catch (const RunAborted &) {
    // Another device has reported why.
  } catch (...) {
    run.fail(std::current_exception(), communicator);
  }
}

std::vector<DistTensorRef>
LocalExecutor::run(LoadedProgram &loaded,
                   std::span<const RunArgument> arguments) {
  auto &program = dynamic_cast<LocalProgram &>(loaded);
  std::lock_guard lock(mutex);
  if (arguments.size() != program.arguments.size())
    throw Error("executor: the program has " +
                    std::to_string(program.arguments.size()) +
                    " arguments, got " + std::to_string(arguments.size()),
                ErrorKind::Type);
  for (size_t i = 0; i < arguments.size(); ++i)
    checkArgument(program, i, arguments[i]);
  ensureThreads(program);
  began = 0;
  communicator.begin(
      std::chrono::milliseconds(1000 * environmentInt("DTORCH_TIMEOUT", 300)));
  std::vector<std::shared_ptr<DistTensor>> results;
  for (const ProgramBuffer *buffer : program.results)
    results.push_back(allocateResult(buffer->type));

  size_t arenaBytes = program.source.entry().arenaBytes;
  bool hostRuns = !program.host.entry().steps.empty();
  if (hostRuns && (!hostArena || hostArena->size() < arenaBytes))
    hostArena = Storage::allocate(arenaBytes);
  Run run(arguments, results, program.devices.size());
  for (BoundProgram &bound : program.devices) {
    DeviceThread &thread = *threads[bound.device];
    thread.start([this, &run, &bound, &thread, arenaBytes] {
      try {
        runDevice(run, bound, thread.arena(arenaBytes));
      } catch (...) { // the arena
        run.fail(std::current_exception(), communicator);
      }
      // Under the lock: `run` is gone once the caller sees 0.
      std::lock_guard lock(run.mutex);
      if (--run.running == 0)
        run.finished.notify_one();
    });
  }
  if (hostRuns) {
    OneThread oneThread;
    runDevice(run, program.host, static_cast<std::byte *>(hostArena->data()));
  }
  {
    // No limit here: each wait between devices has one, and memory in use may
    // not be left while a kernel runs.
    std::unique_lock wait(run.mutex);
    run.finished.wait(wait, [&] { return run.running == 0; });
  }
  ended = now();
  if (run.firstError)
    std::rethrow_exception(run.firstError);
  std::vector<DistTensorRef> finished;
  for (std::shared_ptr<DistTensor> &result : results) {
    shareReplicas(*result);
    finished.push_back(std::move(result));
  }
  return finished;
}

std::vector<DistTensorRef>
Executor::run(LoadedProgram &program,
              const std::vector<DistTensorRef> &arguments) {
  std::vector<RunArgument> list;
  for (const DistTensorRef &argument : arguments)
    list.push_back({argument.get(), nullptr, {}});
  return run(program, list);
}

Executor &Executor::local() {
  static LocalExecutor executor;
  return executor;
}

} // namespace dtorch
