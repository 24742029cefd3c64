// What the agent and a worker say to each other: one fixed-size message a packet.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

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

template <typename Message>
[[nodiscard]] std::string_view bytes_of(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

// An error where the size or the version is another's.
template <typename Message>
[[nodiscard]] Result<Message> message_from(std::string_view bytes) {
  Message message;
  if (bytes.size() != sizeof message) return failure("a message of a wrong size");
  bytes.copy(reinterpret_cast<char*>(&message), sizeof message);
  if (message.version != kProtocolVersion) return failure("a message of another release");
  return message;
}

}  // namespace sidecall::worker
