//===- CommunicatorTest.cpp - meeting, mismatch, abort --------------------===//
#include "dtorch/Runtime/Comm/LocalCommunicator.h"

#include "Testing.h"

#include <thread>

using namespace dtorch;
using namespace dtorch::testing;

namespace {

using std::chrono::milliseconds;

CommunicationSpec gather(int64_t number) {
  MeshRef two = mesh({2});
  BufferType rows{{4}, DType::Float32, {two, {Placement::shard(0)}}};
  BufferType whole{{4}, DType::Float32, {two, {Placement::replicate()}}};
  return {"all_gather", rows, whole, {0}, "model.py:9", number};
}

/// Runs `body(device)` on two threads and gives each one's error.
template <typename F> std::vector<std::string> onTwoDevices(F body) {
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int64_t device = 0; device < 2; ++device)
    threads.emplace_back([&, device] {
      try {
        errors[device] = errorOf([&] { body(device); });
      } catch (const RunAborted &) {
        errors[device] = "aborted";
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

TEST(CommunicatorTest, DevicesAtDifferentInstructionsAreAnError) {
  LocalCommunicator communicator;
  communicator.begin(milliseconds(5000));
  auto errors = onTwoDevices([&](int64_t device) {
    auto bound = communicator.bind(gather(10 + device), device);
    float in[2] = {}, out[4];
    bound->run(in, out);
  });
  for (int64_t device = 0; device < 2; ++device) {
    EXPECT_NE(errors[device].find("all_gather #1 on device " +
                                  std::to_string(device) + " at model.py:9"),
              std::string::npos)
        << errors[device];
    EXPECT_NE(errors[device].find("instruction " + std::to_string(11 - device)),
              std::string::npos)
        << errors[device];
  }
}

TEST(CommunicatorTest, AnAbortEndsAWaitAtOnce) {
  LocalCommunicator communicator;
  communicator.begin(milliseconds(60000));
  auto start = std::chrono::steady_clock::now();
  auto errors = onTwoDevices([&](int64_t device) {
    auto bound = communicator.bind(gather(1), device);
    if (device == 1) {
      std::this_thread::sleep_for(milliseconds(100));
      communicator.abort();
      return;
    }
    float in[2] = {}, out[4];
    bound->run(in, out);
  });
  EXPECT_EQ(errors[0], "aborted");
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000));
  // After `begin` the group works again.
  communicator.begin(milliseconds(5000));
  errors = onTwoDevices([&](int64_t device) {
    auto bound = communicator.bind(gather(1), device);
    float in[2] = {device * 2.0f, device * 2 + 1.0f}, out[4];
    bound->run(in, out);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(out[i], i);
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"", ""}));
}

TEST(CommunicatorTest, NobodyLeavesAMeetingEarly) {
  constexpr int threads = 6, rounds = 3000;
  Barrier barrier(threads);
  std::atomic<bool> aborted = false;
  std::atomic<int> arrived = 0, wrong = 0;
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&] {
      for (int round = 1; round <= rounds; ++round) {
        ++arrived;
        barrier.wait(aborted, milliseconds(60000));
        wrong += arrived < round * threads;
        barrier.wait(aborted, milliseconds(60000));
      }
    });
  for (std::thread &thread : team)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(arrived, threads * rounds);
}

} // namespace
