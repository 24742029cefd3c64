// What a worker and its sandbox's bridge say to each other about calls that plugins serve: one
// message a packet, over a SOCK_SEQPACKET socket for each plugin. proto/sidecall/v1/emulator.proto
// has the same things as plugins see them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "emulators/conditions.h"
#include "emulators/verdict.h"
#include "kernel/abi.h"

namespace sidecall::emulators::remote {

// Bounds that both ends hold, and decoding enforces.
inline constexpr std::size_t kMostShapes = 64;                           // of a description
inline constexpr std::size_t kMostBufferBytes = std::size_t{64} << 10U;  // of a call, in all
inline constexpr std::size_t kMostWriteBytes = std::size_t{64} << 10U;   // of an answer, in all
inline constexpr std::size_t kMostPathBytes = 4096;                      // PATH_MAX, with its NUL
inline constexpr std::size_t kMostSockaddrBytes = 128;                   // sockaddr_storage
inline constexpr std::size_t kMostIovecs = 1024;                         // UIO_MAXIOV
inline constexpr std::size_t kMostGroups = 256;  // those beyond are left out
inline constexpr std::size_t kMostMessageBytes = std::size_t{96} << 10U;

// An argument that points to something.
struct ArgumentShape {
  enum class Kind : std::uint8_t { kCString, kBytes, kStruct, kSockaddr, kIovec };
  std::uint8_t index = 0;
  Kind kind{};
  std::uint8_t length_argument = 0;  // kBytes, kSockaddr, kIovec
  std::uint32_t size = 0;            // kCString: most bytes, NUL included; kStruct: exactly
  bool read = false;
  bool write = false;
  bool optional = false;
  friend bool operator==(const ArgumentShape&, const ArgumentShape&) = default;
};

// A kind of call that a plugin serves.
struct CallShape {
  std::string syscall;
  std::uint8_t abis = 0;  // bits 1 << kernel::Abi; 0: each
  Conditions when;
  std::vector<ArgumentShape> arguments;
  bool repeatable = false;
  bool wants_caller = false;
  friend bool operator==(const CallShape&, const CallShape&) = default;
};

// From the bridge: the plugin is there, and serves these; the first that matches counts.
struct Described {
  std::uint32_t epoch = 0;  // another one each time
  std::vector<CallShape> shapes;
};
// From the bridge: the plugin is not there, or no longer. What it had not answered it will not.
struct Lost {};

struct Buffer {
  std::uint8_t index = 0;
  std::string data;
  std::uint64_t length = 0;  // what the caller has there
  bool null = false;
};

struct Caller {
  std::uint32_t fsuid = 0;
  std::uint32_t fsgid = 0;
  std::vector<std::uint32_t> groups;
  std::uint64_t capabilities = 0;
  std::uint32_t umask = 0;
  std::string working_directory;
};

// To the bridge.
struct Call {
  std::uint64_t id = 0;     // the worker's, never used again
  std::uint32_t epoch = 0;  // of the description that it was copied by; others are dropped
  std::string syscall;
  kernel::Abi abi{};
  std::int32_t nr = 0;
  std::array<std::uint64_t, 6> args{};
  std::int32_t tid = 0;
  std::vector<Buffer> buffers;
  std::optional<Caller> caller;
};
// To the bridge: the answer is not wanted any more.
struct Cancelled {
  std::uint64_t id = 0;
};

struct Write {
  std::uint8_t index = 0;
  std::string data;
};
// The file itself, sealed memory, comes beside the message.
struct File {
  bool cloexec = false;
};
struct OpenFile {
  std::string path;
  std::uint32_t flags = 0;
  std::uint32_t mode = 0;
};
// From the bridge.
struct Answer {
  std::uint64_t id = 0;
  std::variant<Value, Errno, Continue, File, OpenFile> given;
  std::vector<Write> writes;
};

using ToBridge = std::variant<Call, Cancelled>;
using FromBridge = std::variant<Described, Lost, Answer>;

[[nodiscard]] std::string encode(const ToBridge& message);
[[nodiscard]] std::string encode(const FromBridge& message);
// Fail on what encode() does not make and on what exceeds a bound.
[[nodiscard]] Result<ToBridge> decode_to_bridge(std::string_view bytes);
[[nodiscard]] Result<FromBridge> decode_from_bridge(std::string_view bytes);

// Makes a call's message one for another description that wants the same of it.
void set_epoch(std::string& call, std::uint32_t epoch);
// Whether two messages are the same call but for its id and epoch.
[[nodiscard]] bool is_same_call(std::string_view one, std::string_view other);

// What is wrong with a description, if anything: what a plugin says is checked here once.
[[nodiscard]] Result<void> check(const std::vector<CallShape>& shapes);

}  // namespace sidecall::emulators::remote
