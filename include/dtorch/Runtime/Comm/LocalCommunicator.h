//===- LocalCommunicator.h - devices that are threads of one process ------===//
#pragma once

#include "dtorch/Runtime/Comm/Barrier.h"
#include "dtorch/Runtime/Comm/Communicator.h"

#include <map>
#include <mutex>

namespace dtorch {

/// The members of a group read each other's memory: each posts its pointers,
/// all meet, each copies or reduces what it needs, all meet again.
class LocalCommunicator final : public Communicator {
public:
  LocalCommunicator();
  ~LocalCommunicator() override;
  std::unique_ptr<Communication> bind(const CommunicationSpec &spec,
                                      int64_t device) override;
  std::unique_ptr<Communication> bindReplicaCheck(const CommunicationSpec &spec,
                                                  int64_t device) override;
  void begin(std::chrono::milliseconds timeout) override;
  void abort() override;

  /// A set of devices that meet; one object for all communications among them.
  struct Group;

private:
  Group &groupOf(std::vector<int64_t> devices);

  std::mutex mutex;
  std::map<std::vector<int64_t>, std::unique_ptr<Group>> groups;
  std::atomic<bool> aborted = false;
  std::chrono::milliseconds timeout{300000};
};

} // namespace dtorch
