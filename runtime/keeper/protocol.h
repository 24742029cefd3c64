// What the agent and its keeper say to each other: one fixed-size packet at a time, over a
// SOCK_SEQPACKET socket, with at most one descriptor.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace sidecall::keeper {

// The keeper's one inherited descriptor: the socket that it listens on.
inline constexpr int kListeningFd = 3;

inline constexpr std::uint32_t kProtocolVersion = 1;

// What a kept descriptor is, and whose. One descriptor to a label; `pid` is not part of its name.
struct Label {
  enum class Kind : std::uint32_t {
    kSocket,         // that the agent listens on; `tag` says which
    kProcess,        // pidfd of a sandbox's worker
    kControl,        // the agent's end of that worker's control socket
    kMemory,         // worker::Statistics: counters and journal
    kListener,       // a seccomp listener of that tag
    kConnection,     // the agent's end of one that a runtime may still send a listener over
    kBridgeProcess,  // pidfd of a sandbox's bridge
    kBridgeControl,  // the agent's end of that bridge's control socket
  };
  std::uint64_t sandbox = 0;  // its number; 0 for what is the agent's own
  std::uint64_t tag = 0;
  Kind kind{};
  std::int32_t pid = 0;  // kListener: the process that the filter was installed for

  [[nodiscard]] bool names_the_same(const Label& other) const {
    return sandbox == other.sandbox && kind == other.kind && tag == other.tag;
  }
};

struct Packet {
  enum class Kind : std::uint32_t {
    kPut,     // to the keeper, with a descriptor: keep it, instead of what had this label
    kDrop,    // to the keeper: close what has this label
    kForget,  // to the keeper: close everything of the label's sandbox
    kFetch,   // to the keeper: answer with all that is kept
    kItem,    // from the keeper, with a descriptor: a duplicate of what is kept
    kEnd,     // from the keeper: that was all
  };
  std::uint32_t version = kProtocolVersion;  // first in every release's packet
  Kind kind{};
  Label label{};
};

[[nodiscard]] inline std::string_view bytes_of(const Packet& packet) {
  return {reinterpret_cast<const char*>(&packet), sizeof packet};
}

// The version of a packet of whichever release; 0 where it is too short to have one.
[[nodiscard]] inline std::uint32_t version_of(std::string_view bytes) {
  std::uint32_t version = 0;
  if (bytes.size() >= sizeof version) {
    bytes.copy(reinterpret_cast<char*>(&version), sizeof version);
  }
  return version;
}

// An error where the size or the version is another's.
[[nodiscard]] inline Result<Packet> packet_from(std::string_view bytes) {
  if (version_of(bytes) != kProtocolVersion) {
    return failure("it speaks version " + std::to_string(version_of(bytes)) +
                   " of the protocol, not " + std::to_string(kProtocolVersion));
  }
  Packet packet;
  if (bytes.size() != sizeof packet) return failure("a packet of a wrong size");
  bytes.copy(reinterpret_cast<char*>(&packet), sizeof packet);
  return packet;
}

}  // namespace sidecall::keeper
