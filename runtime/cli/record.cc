#include "cli/record.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "cli/command.h"
#include "cli/filter.h"
#include "cli/filtered_child.h"
#include "cli/run.h"
#include "kernel/kernel_target.h"

namespace sidecall::cli {
namespace {

// Everything is notified but what the command's process makes before anybody can answer.
oci::SeccompProfile notify_all_profile() {
  oci::SeccompProfile profile = oci::allow_all_profile();
  profile.default_action = "SCMP_ACT_NOTIFY";
  profile.syscalls = {{.names = {"sendmsg", "close", "read"},
                       .action = "SCMP_ACT_ALLOW",
                       .errno_ret = {},
                       .args = {}}};
  return profile;
}

void serve(kernel::Listener& listener, int fd, const kernel::NotificationSizes& sizes,
           const kernel::SandboxNamespaces& namespaces, Recording& recording) {
  kernel::NotificationBuffer buffer(sizes);
  kernel::ThreadCache threads;
  for (;;) {
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) return;
    if ((waiting.revents & POLLIN) == 0) {
      if ((waiting.revents & POLLHUP) != 0) return;
      continue;
    }
    const auto call = listener.receive(buffer);
    if (!call) continue;  // it was interrupted: it comes again
    kernel::KernelTarget target(listener, namespaces, threads, call->id, call->tid);
    recording.note(*call, target);
    static_cast<void>(listener.reply({.id = call->id, .proceed = true}, buffer));
  }
}

}  // namespace

Result<int> record(const std::vector<std::string>& command, Recording& recording) {
  auto filter = Filter::build(notify_all_profile());
  if (!filter) return pass_on(std::move(filter));
  const auto sizes = kernel::notification_sizes();
  if (!sizes) return tl::unexpected<Error>(sizes.error());
  sigset_t stops;
  sigset_t before;
  ::sigemptyset(&stops);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&stops, number);
  ::sigprocmask(SIG_BLOCK, &stops, &before);
  auto child = FilteredChild::start(*filter, command, before);
  if (!child) return pass_on(std::move(child));
  const auto proc = open_file("/proc", O_PATH | O_DIRECTORY);
  if (!proc) return tl::unexpected<Error>(proc.error());
  const auto namespaces = kernel::sandbox_namespaces(proc->get(), child->pid());
  if (!namespaces) return errno_failure("looking at the command", namespaces.error().value);
  auto listener = kernel::open_listener(UniqueFd(::dup(child->listener())));
  if (!listener) return pass_on(std::move(listener));

  std::jthread server(
      [&] { serve(**listener, child->listener(), *sizes, *namespaces, recording); });
  if (const auto executed = child->release(); !executed) {
    ::waitpid(child->pid(), nullptr, 0);
    const int number = executed.error().number.value;
    say(command.front() + ": " + std::strerror(number));
    return number == ENOENT ? kNotFound : kCannotExecute;
  }
  int status = 0;
  while (::waitpid(child->pid(), &status, 0) < 0 && errno == EINTR) {
  }
  server.join();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace sidecall::cli
