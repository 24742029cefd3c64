#include "bridge/launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/file.h"
#include "base/pass_fd.h"
#include "placement/spawn.h"

namespace sidecall::bridge {
namespace {

Result<UniqueFd> settings_memory(const Settings& settings) {
  UniqueFd memory(::memfd_create("sidecall-bridge", MFD_CLOEXEC));
  if (!memory) return errno_failure("making memory for a bridge's settings");
  if (auto written = write_fd(memory.get(), encode(settings)); !written) {
    return pass_on(std::move(written), "a bridge's settings");
  }
  return memory;
}

}  // namespace

Result<BridgeProcess> BridgeProcess::launch(const LaunchOptions& options) {
  auto settings = settings_memory(*options.settings);
  if (!settings) return pass_on(std::move(settings));
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_failure("making a socket pair for a bridge");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  // An agent has every other sandbox to serve.
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) {
    return errno_failure("setting up a bridge's control socket");
  }
  const std::array<int, 2> fds{theirs.get(), settings->get()};
  auto spawned =
      placement::spawn(options.bridge_path, options.settings->sandbox, fds, options.cpus);
  if (!spawned) return pass_on(std::move(spawned));
  return BridgeProcess(spawned->pid, std::move(spawned->pidfd), std::move(ours));
}

Result<BridgeProcess> BridgeProcess::adopt(UniqueFd pidfd, UniqueFd control) {
  if (!pidfd || !control) return failure("a descriptor of its bridge is missing");
  const auto pid = placement::pid_of(pidfd.get());
  if (!pid) return tl::unexpected<Error>(pid.error());
  return BridgeProcess(*pid, std::move(pidfd), std::move(control));
}

Result<void> BridgeProcess::tell(ToBridge::Kind kind, std::uint32_t plugin, int fd) {
  const ToBridge message{.kind = kind, .plugin = plugin};
  auto sent = send_with_fd(control_.get(), bytes_of(message), fd);
  if (!sent) return pass_on(std::move(sent), "telling a bridge");
  return {};
}

Result<BridgeReport> BridgeProcess::receive_report() {
  auto received = receive_with_fds(control_.get(), sizeof(FromBridge));
  if (!received) return pass_on(std::move(received));
  if (received->bytes.empty()) return BridgeReport{.kind = BridgeReport::Kind::kEnded};
  auto message = message_from<FromBridge>(received->bytes);
  if (!message) return pass_on(std::move(message), "from a bridge");
  BridgeReport report{.plugin = message->plugin};
  report.text.assign(message->text.data(), ::strnlen(message->text.data(), message->text.size()));
  switch (message->kind) {
    case FromBridge::Kind::kDisconnected:
      report.kind = BridgeReport::Kind::kDisconnected;
      return report;
    case FromBridge::Kind::kServing:
      report.kind = BridgeReport::Kind::kServing;
      return report;
    case FromBridge::Kind::kMessage:
      report.kind = BridgeReport::Kind::kMessage;
      return report;
  }
  return failure("a bridge sent a message of an unknown kind");
}

}  // namespace sidecall::bridge
