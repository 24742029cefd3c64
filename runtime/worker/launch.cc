#include "worker/launch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/file.h"
#include "base/pass_fd.h"
#include "placement/spawn.h"
#include "worker/protocol.h"

namespace sidecall::worker {
namespace {

Result<UniqueFd> program_memory(const emulators::Program& program) {
  UniqueFd memory(::memfd_create("sidecall-program", MFD_CLOEXEC));
  if (!memory) return errno_failure("making memory for the program");
  if (auto written = write_fd(memory.get(), encode(program)); !written) {
    return pass_on(std::move(written), "the worker's program");
  }
  return memory;
}

}  // namespace

WorkerProcess::WorkerProcess(pid_t pid, UniqueFd pidfd, UniqueFd control, Statistics statistics)
    : pid_(pid),
      pidfd_(std::move(pidfd)),
      control_(std::move(control)),
      statistics_(std::move(statistics)) {}

Result<WorkerProcess> WorkerProcess::launch(const LaunchOptions& options) {
  auto statistics =
      options.predecessor == nullptr
          ? Statistics::create(*options.program)
          : Statistics::map(UniqueFd(::fcntl(options.predecessor->fd(), F_DUPFD_CLOEXEC, 0)));
  if (!statistics) return pass_on(std::move(statistics));
  auto program = program_memory(*options.program);
  if (!program) return pass_on(std::move(program));
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_failure("making a socket pair for a worker");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  // Nobody may be reading: a worker that waited for that would keep its sandbox waiting.
  if (::fcntl(theirs.get(), F_SETFL, O_NONBLOCK) != 0) {
    return errno_failure("setting up a worker's control socket");
  }

  const std::array<int, 3> fds{theirs.get(), statistics->fd(), program->get()};
  auto spawned = placement::spawn(options.worker_path, options.sandbox, fds, options.cpus);
  if (!spawned) return pass_on(std::move(spawned));
  return WorkerProcess(spawned->pid, std::move(spawned->pidfd), std::move(ours),
                       std::move(*statistics));
}

Result<WorkerProcess> WorkerProcess::adopt(UniqueFd pidfd, UniqueFd control, UniqueFd memory) {
  if (!pidfd || !control || !memory) return failure("a descriptor of its worker is missing");
  const auto pid = placement::pid_of(pidfd.get());
  if (!pid) return tl::unexpected<Error>(pid.error());
  auto statistics = Statistics::map(std::move(memory));
  if (!statistics) return pass_on(std::move(statistics));
  return WorkerProcess(*pid, std::move(pidfd), std::move(control), std::move(*statistics));
}

Result<void> WorkerProcess::add_listener(int listener, std::uint64_t tag, pid_t pid,
                                         pid_t first_pid) {
  const ToWorker message{
      .kind = ToWorker::Kind::kAddListener, .tag = tag, .pid = pid, .first_pid = first_pid};
  auto sent = send_with_fd(control_.get(), bytes_of(message), listener);
  if (!sent) return pass_on(std::move(sent), "handing a listener to a worker");
  return {};
}

Result<void> WorkerProcess::connect_bridge(int socket, std::uint64_t generation,
                                           std::uint32_t plugin) {
  const ToWorker message{
      .kind = ToWorker::Kind::kBridge, .tag = generation, .pid = static_cast<std::int32_t>(plugin)};
  auto sent = send_with_fd(control_.get(), bytes_of(message), socket);
  if (!sent) return pass_on(std::move(sent), "connecting a worker with its bridge");
  return {};
}

Result<void> WorkerProcess::finish() {
  auto sent = send_with_fd(control_.get(), bytes_of(ToWorker{.kind = ToWorker::Kind::kFinish}), -1);
  if (!sent) return pass_on(std::move(sent), "asking a worker to end");
  return {};
}

Result<void> WorkerProcess::retire() {
  auto sent = send_with_fd(control_.get(), bytes_of(ToWorker{.kind = ToWorker::Kind::kRetire}), -1);
  if (!sent) return pass_on(std::move(sent), "asking a worker to retire");
  return {};
}

Result<WorkerReport> WorkerProcess::receive_report() {
  auto received = receive_with_fds(control_.get(), sizeof(FromWorker));
  if (!received) return pass_on(std::move(received));
  if (received->bytes.empty()) return WorkerReport{.kind = WorkerReport::Kind::kEnded};
  auto message = message_from<FromWorker>(received->bytes);
  if (!message) return pass_on(std::move(message), "from a worker");
  WorkerReport report{.tag = message->tag};
  report.text.assign(message->text.data(), ::strnlen(message->text.data(), message->text.size()));
  switch (message->kind) {
    case FromWorker::Kind::kReady:
      report.kind = WorkerReport::Kind::kReady;
      return report;
    case FromWorker::Kind::kListenerClosed:
      report.kind = WorkerReport::Kind::kListenerClosed;
      return report;
    case FromWorker::Kind::kBridgeLost:
      report.kind = WorkerReport::Kind::kBridgeLost;
      return report;
    case FromWorker::Kind::kMessage:
      report.kind = WorkerReport::Kind::kMessage;
      return report;
    case FromWorker::Kind::kEventsWaiting:
      report.kind = WorkerReport::Kind::kEventsWaiting;
      return report;
  }
  return failure("a worker sent a message of an unknown kind");
}

}  // namespace sidecall::worker
