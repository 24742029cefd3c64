// Starting a bridge process and talking to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bridge/protocol.h"
#include "bridge/settings.h"
#include "placement/cpu_set.h"

namespace sidecall::bridge {

struct LaunchOptions {
  std::string bridge_path;  // the sidecall-bridge program
  placement::CpuSet cpus;   // empty: left where the parent is
  const Settings* settings = nullptr;
};

// What a bridge tells.
struct BridgeReport {
  enum class Kind : std::uint8_t {
    kDisconnected,  // a connection to `plugin` is wanted
    kServing,       // `plugin` serves
    kMessage,       // `text` is one line for the log
    kEnded,         // the process has closed its side: it is exiting or dead
  };
  Kind kind = Kind::kMessage;
  std::uint32_t plugin = 0;
  std::string text{};
};

// A running bridge. Owns its control socket, on which nothing blocks, and its pidfd. Destroying it
// does not end the process: a bridge carries calls for as long as its worker is there.
class BridgeProcess {
 public:
  [[nodiscard]] static Result<BridgeProcess> launch(const LaunchOptions& options);
  // A running one that somebody else has launched.
  [[nodiscard]] static Result<BridgeProcess> adopt(UniqueFd pidfd, UniqueFd control);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] int control_fd() const { return control_.get(); }  // readable: receive_report()

  // `fd` is what the kind brings, -1 where that is nothing; it stays the caller's.
  [[nodiscard]] Result<void> tell(ToBridge::Kind kind, std::uint32_t plugin, int fd);
  [[nodiscard]] Result<BridgeReport> receive_report();

 private:
  BridgeProcess(pid_t pid, UniqueFd pidfd, UniqueFd control)
      : pid_(pid), pidfd_(std::move(pidfd)), control_(std::move(control)) {}
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd control_;
};

}  // namespace sidecall::bridge
