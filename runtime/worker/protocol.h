// What the agent and a worker say to each other: one fixed-size message a packet.
#pragma once

#include <array>
#include <cstdint>

#include "base/packet.h"

namespace sidecall::worker {

// Descriptors that a worker finds open when it starts; every other one is closed.
inline constexpr int kControlFd = 3;     // SOCK_SEQPACKET
inline constexpr int kStatisticsFd = 4;  // Statistics
inline constexpr int kProgramFd = 5;     // an encoded emulators::Program, to be read from its start

inline constexpr std::uint32_t kProtocolVersion = 1;

struct ToWorker {
  enum class Kind : std::uint32_t {
    kAddListener,
    kFinish,
    kRetire,  // receive no more, finish what has been received, end
    kBridge,  // with the bridge's socket for the plugin `pid`; `tag` is its generation
  };
  std::uint32_t version = kProtocolVersion;
  Kind kind{};
  std::uint64_t tag = 0;
  std::int32_t pid = 0;        // the process that the filter was installed for
  std::int32_t first_pid = 0;  // the sandbox's first process
};

struct FromWorker {
  enum class Kind : std::uint32_t {
    kReady,
    kListenerClosed,
    kMessage,
    kEventsWaiting,
    kBridgeLost,  // the one of generation `tag` has gone, or says what no bridge says
  };
  std::uint32_t version = kProtocolVersion;
  Kind kind{};
  std::uint64_t tag = 0;
  std::array<char, 496> text{};  // NUL-terminated
};

}  // namespace sidecall::worker
