// What the agent and a bridge say to each other: one fixed-size message a packet.
#pragma once

#include <array>
#include <cstdint>

#include "base/packet.h"

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

}  // namespace sidecall::bridge
