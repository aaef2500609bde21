//===- LocalCommunicator.cpp - devices that are threads of one process ----===//
#include "dtorch/Runtime/Comm/LocalCommunicator.h"

#include "dtorch/Runtime/CPU/Reduction.h"
#include "dtorch/Runtime/Comm/Counters.h"
#include "dtorch/Support/Error.h"

#include <cstring>

namespace dtorch {

/// What a member shows the others at a meeting. Written by its own thread
/// before the meeting, read by others between meetings.
struct alignas(64) Post {
  const void *input = nullptr;
  void *output = nullptr;
  int64_t number = 0;                 ///< instruction
  uint64_t sequence = 0;              ///< communications of this group so far
  std::atomic<uint64_t> arrivals = 0; ///< meetings begun
};

struct LocalCommunicator::Group {
  explicit Group(std::vector<int64_t> devices)
      : devices(std::move(devices)), posts(this->devices.size()),
        barrier(this->devices.size()) {}
  const std::vector<int64_t> devices;
  std::vector<Post> posts;
  Barrier barrier;
};

namespace {

using Group = LocalCommunicator::Group;

std::string deviceName(int64_t device) {
  return device == hostDevice ? "the host" : "device " + std::to_string(device);
}

/// What local communications have in common: posting and meeting.
class LocalCommunication : public Communication {
public:
  LocalCommunication(const CommunicationSpec &spec, Group &group,
                     int64_t device, const std::atomic<bool> &aborted,
                     const std::chrono::milliseconds &timeout)
      : kind(spec.kind), location(spec.location), number(spec.number),
        group(group), aborted(aborted), timeout(timeout) {
    while (group.devices[self] != device)
      ++self;
  }

protected:
  /// Shows the pointers, waits for all, and checks that all are at the same
  /// communication.
  void open(const void *input, void *output) {
    Post &mine = group.posts[self];
    mine.input = input;
    mine.output = output;
    mine.number = number;
    ++mine.sequence;
    meet();
    for (size_t i = 0; i < group.posts.size(); ++i) {
      const Post &other = group.posts[i];
      if (other.number != number || other.sequence != mine.sequence)
        throw Error(describe() + ": " + deviceName(group.devices[i]) +
                        " is at communication " +
                        std::to_string(other.sequence) + " (instruction " +
                        std::to_string(other.number) +
                        "); all devices of a group run the same list",
                    ErrorKind::Runtime);
    }
  }

  void meet() {
    Post &mine = group.posts[self];
    mine.arrivals.fetch_add(1, std::memory_order_relaxed);
    switch (group.barrier.wait(aborted, timeout)) {
    case Barrier::Outcome::Met:
      return;
    case Barrier::Outcome::Aborted:
      throw RunAborted();
    case Barrier::Outcome::TimedOut:
      throw Error(describe() + ": waited " +
                      std::to_string(timeout.count() / 1000.0) + " s for " +
                      missing() + "; DTORCH_TIMEOUT sets the limit in seconds",
                  ErrorKind::Runtime);
    }
  }

  std::string describe() const {
    std::string text = kind + " #" +
                       std::to_string(group.posts[self].sequence) + " on " +
                       deviceName(group.devices[self]);
    return location.empty() ? text : text + " at " + location;
  }

  const std::string kind, location;
  const int64_t number;
  Group &group;
  size_t self = 0;

private:
  std::string missing() const {
    std::string text;
    uint64_t here = group.posts[self].arrivals;
    for (size_t i = 0; i < group.posts.size(); ++i)
      if (group.posts[i].arrivals.load(std::memory_order_relaxed) < here)
        text += (text.empty() ? "" : ", ") + deviceName(group.devices[i]);
    return text.empty() ? "the others" : text;
  }

  const std::atomic<bool> &aborted;
  const std::chrono::milliseconds &timeout;
};

/// Any collective over devices of one mesh.
class LocalCollective final : public LocalCommunication {
public:
  LocalCollective(CommunicationPlan plan, bool leads,
                  const CommunicationSpec &spec, Group &group, int64_t device,
                  const std::atomic<bool> &aborted,
                  const std::chrono::milliseconds &timeout)
      : LocalCommunication(spec, group, device, aborted, timeout),
        plan(std::move(plan)), counter(spec.kind), leads(leads),
        inputs(this->plan.members.size()) {}

  void run(const void *input, void *output) override {
    open(input, output);
    if (plan.sort == CommunicationPlan::Sort::Reduce)
      reduce(output);
    else if (plan.zero)
      std::memset(output, 0, plan.targetBytes);
    else
      for (const auto &[peer, copy] : plan.pieces)
        copy.run(group.posts[peer].input, output);
    meet();
    if (leads)
      counter.addCount();
    counter.addBytes(plan.bytesReceived);
  }

private:
  void reduce(void *output) {
    for (const CommunicationPlan::Run &run : plan.runs) {
      for (size_t i = 0; i < inputs.size(); ++i)
        inputs[i] = static_cast<const char *>(group.posts[i].input) + run.input;
      reduceElements(plan.dtype, plan.reduce, inputs,
                     static_cast<char *>(output) + run.output, run.count);
    }
    if (plan.slices.empty())
      return;
    meet(); // all slices are reduced; inputs are free
    for (const auto &[peer, offset, bytes] : plan.slices)
      std::memcpy(static_cast<char *>(output) + offset,
                  static_cast<const char *>(group.posts[peer].output) + offset,
                  bytes);
  }

  const CommunicationPlan plan;
  const CounterHandle counter;
  const bool leads; ///< the one device that counts the collective
  std::vector<const void *> inputs;
};

/// slice and mask.
class LocalStep final : public Communication {
public:
  explicit LocalStep(CommunicationPlan plan) : plan(std::move(plan)) {}
  void run(const void *input, void *output) override {
    if (plan.zero)
      std::memset(output, 0, plan.targetBytes);
    for (const auto &[peer, copy] : plan.pieces)
      copy.run(input, output);
  }

private:
  const CommunicationPlan plan;
};

/// from_host and to_host; the host is member 0.
class LocalHostMove final : public LocalCommunication {
public:
  LocalHostMove(CommunicationPlan plan, int64_t bytes,
                const CommunicationSpec &spec, Group &group, int64_t device,
                const std::atomic<bool> &aborted,
                const std::chrono::milliseconds &timeout)
      : LocalCommunication(spec, group, device, aborted, timeout),
        plan(std::move(plan)), counter(spec.kind), hostBytes(bytes) {}

  void run(const void *input, void *output) override {
    open(input, output);
    const Post &host = group.posts[0];
    bool fromHost = plan.sort == CommunicationPlan::Sort::FromHost;
    if (plan.zero)
      std::memset(output, 0, plan.targetBytes);
    for (const auto &[peer, copy] : plan.pieces)
      copy.run(fromHost ? host.input : input, fromHost ? output : host.output);
    meet();
    if (self == 0 && isCollective(kind)) {
      counter.addCount();
      counter.addBytes(hostBytes);
    }
  }

private:
  const CommunicationPlan plan;
  const CounterHandle counter;
  const int64_t hostBytes;
};

/// 64 bits that differ, in all likelihood, if any byte differs.
uint64_t hashBytes(const void *data, size_t bytes) {
  const char *p = static_cast<const char *>(data);
  uint64_t hash = bytes;
  while (bytes) {
    uint64_t word = 0;
    size_t n = bytes < 8 ? bytes : 8;
    std::memcpy(&word, p, n);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    p += n;
    bytes -= n;
  }
  return hash;
}

/// Compares hashes of the parts that should be equal.
class LocalReplicaCheck final : public LocalCommunication {
public:
  LocalReplicaCheck(size_t bytes, const CommunicationSpec &spec, Group &group,
                    int64_t device, const std::atomic<bool> &aborted,
                    const std::chrono::milliseconds &timeout)
      : LocalCommunication(spec, group, device, aborted, timeout),
        bytes(bytes) {}

  void run(const void *input, void *) override {
    hash = hashBytes(input, bytes);
    open(&hash, nullptr);
    size_t differs = 0;
    for (size_t i = 0; i < group.posts.size(); ++i)
      if (*static_cast<const uint64_t *>(group.posts[i].input) != hash)
        differs = i + 1;
    meet();
    if (differs)
      throw Error(describe() + ": replicas differ, " +
                      deviceName(group.devices[differs - 1]) +
                      " holds other bits",
                  ErrorKind::Runtime);
  }

private:
  const size_t bytes;
  uint64_t hash = 0; ///< others read it between the meetings
};

} // namespace

LocalCommunicator::LocalCommunicator() = default;
LocalCommunicator::~LocalCommunicator() = default;

LocalCommunicator::Group &
LocalCommunicator::groupOf(std::vector<int64_t> devices) {
  std::lock_guard lock(mutex);
  std::unique_ptr<Group> &group = groups[devices];
  if (!group)
    group = std::make_unique<Group>(std::move(devices));
  return *group;
}

std::unique_ptr<Communication>
LocalCommunicator::bind(const CommunicationSpec &spec, int64_t device) {
  bool hostMove = spec.kind == "from_host" || spec.kind == "to_host";
  const BufferType &type = spec.from.sharding.isHost() ? spec.to : spec.from;
  const DeviceMesh &mesh = *type.sharding.mesh;
  std::vector<int64_t> devices;
  if (hostMove) {
    devices.push_back(hostDevice);
    for (int64_t i = 0; i < mesh.numDevices(); ++i)
      devices.push_back(mesh.deviceAt(i));
    CommunicationPlan plan;
    if (device == hostDevice)
      plan.sort = CommunicationPlan::Sort::ToHost; // it has no pieces
    else
      plan = planCommunication(spec, *mesh.indexOfDevice(device));
    int64_t bytes = numElements(type.shape) * itemSize(type.dtype);
    return std::make_unique<LocalHostMove>(std::move(plan), bytes, spec,
                                           groupOf(devices), device, aborted,
                                           timeout);
  }
  int64_t index = *mesh.indexOfDevice(device);
  CommunicationPlan plan = planCommunication(spec, index);
  if (plan.sort == CommunicationPlan::Sort::Local)
    return std::make_unique<LocalStep>(std::move(plan));
  for (int64_t member : plan.members)
    devices.push_back(mesh.deviceAt(member));
  return std::make_unique<LocalCollective>(std::move(plan), index == 0, spec,
                                           groupOf(devices), device, aborted,
                                           timeout);
}

std::unique_ptr<Communication>
LocalCommunicator::bindReplicaCheck(const CommunicationSpec &spec,
                                    int64_t device) {
  const Sharding &sharding = spec.to.sharding;
  const DeviceMesh &mesh = *sharding.mesh;
  std::vector<int64_t> axes, devices;
  for (int64_t a = 0; a < mesh.ndim(); ++a)
    if (sharding.placements[a].isReplicate() && mesh.axisSize(a) > 1)
      axes.push_back(a);
  if (axes.empty())
    return nullptr;
  int64_t index = *mesh.indexOfDevice(device);
  for (int64_t member : mesh.group(index, axes))
    devices.push_back(mesh.deviceAt(member));
  size_t bytes = spec.to.boxOf(index).numElements() * itemSize(spec.to.dtype);
  return std::make_unique<LocalReplicaCheck>(bytes, spec, groupOf(devices),
                                             device, aborted, timeout);
}

void LocalCommunicator::begin(std::chrono::milliseconds limit) {
  std::lock_guard lock(mutex);
  timeout = limit;
  aborted = false;
  for (auto &[devices, group] : groups) {
    group->barrier.reset();
    for (Post &post : group->posts) {
      post.sequence = 0;
      post.arrivals = 0;
    }
  }
}

void LocalCommunicator::abort() {
  std::lock_guard lock(mutex);
  aborted = true;
  for (auto &[devices, group] : groups)
    group->barrier.wake();
}

} // namespace dtorch
