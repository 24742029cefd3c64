// What the agent and a bridge say to each other: one fixed-size message a packet.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace sidecall::bridge {

// Descriptors that a bridge finds open when it starts; every other one is closed.
inline constexpr int kControlFd = 3;   // SOCK_SEQPACKET
inline constexpr int kSettingsFd = 4;  // encoded Settings, to be read from their start

inline constexpr std::uint32_t kProtocolVersion = 1;

// `plugin` is a number in Settings::plugins.
struct ToBridge {
  enum class Kind : std::uint32_t {
    kConnection,  // with a socket that is connected to the plugin
    kAbsent,      // the plugin cannot be connected to now; a connection comes when it can
    kWorker,      // with the socket to the worker for this plugin, instead of the one before
    kAnnounce,    // say again which plugins have no connection: another agent asks
  };
  std::uint32_t version = kProtocolVersion;
  Kind kind{};
  std::uint32_t plugin = 0;
};

struct FromBridge {
  enum class Kind : std::uint32_t {
    kDisconnected,  // a connection to the plugin is wanted
    kServing,       // the plugin serves
    kMessage,
  };
  std::uint32_t version = kProtocolVersion;
  Kind kind{};
  std::uint32_t plugin = 0;
  std::array<char, 500> text{};  // NUL-terminated
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

}  // namespace sidecall::bridge
