#include "kernel/features.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "kernel/kernel_target.h"
#include "kernel/listener.h"
#include "kernel/trial.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace sidecall::kernel {
namespace {

constexpr std::uint64_t kAnswer = 4242;
// What the trial call's argument points at: in the parent's and in the forked child's memory alike.
alignas(8) constexpr std::array<char, 8> kProbe = {'s', 'i', 'd', 'e', 'c', 'a', 'l', 'l'};

int call_once() {
  return ::syscall(SYS_getppid, kProbe.data()) == static_cast<long>(kAnswer) ? 0 : 1;
}

Feature say(std::string name, bool present, bool required, std::string detail) {
  return Feature{.name = std::move(name),
                 .present = present,
                 .required = required,
                 .detail = std::move(detail)};
}

// What needs a call in flight; leaves it answered.
void probe_call(Listener& listener, std::vector<Feature>& features) {
  const auto sizes = notification_sizes();
  if (!sizes) {
    features.push_back(say("receive", false, true, sizes.error().message));
    return;
  }
  NotificationBuffer buffer(*sizes);
  const auto got = listener.receive(buffer);
  if (!got) {
    features.push_back(say("receive", false, true,
                           "RECV failed with " + errno_name(got.error().value) +
                               ": a security module or a filter forbids it"));
    return;
  }
  features.push_back(say("receive", true, true, "calls can be received"));

  const UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto namespaces = sandbox_namespaces(proc.get(), got->tid);
  if (namespaces) {
    ThreadCache threads;
    KernelTarget target(listener, *namespaces, threads, got->id, got->tid);
    std::array<std::byte, kProbe.size()> copy{};
    const auto read = target.read(got->args[0], copy);
    features.push_back(say("target memory", read.has_value(), true,
                           read ? "arguments can be copied"
                                : "process_vm_readv failed with " + errno_name(read.error().value) +
                                      ": CAP_SYS_PTRACE is needed"));
  }
  const auto added = listener.add_fd(got->id, STDIN_FILENO, true, false);
  features.push_back(say("descriptor injection", added.has_value(), false,
                         added ? "ADDFD works" : "ADDFD needs Linux 5.9"));
  const auto sent = listener.reply({.id = got->id, .value = kAnswer}, buffer);
  features.push_back(
      say("reply", sent.has_value(), true,
          sent ? "calls can be answered" : "SEND failed with " + errno_name(sent.error().value)));
}

Feature probe_hang_up(Listener& listener) {
  const bool seen = listener.hung_up();
  return say("hang-up", seen, true,
             seen ? "the end of a listener's last user is seen"
                  : "POLLHUP did not come after the last user's exit: Linux 5.8 is needed");
}

Feature probe_wait_killable() {
  auto trial = Trial::start(
      SYS_getppid, [] { return 0; }, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
  return say("wait-killable", trial.has_value(), false,
             trial ? "calls being served ignore signals where the policy asks for it"
                   : "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV needs Linux 5.19");
}

}  // namespace

std::vector<Feature> probe_features() {
  std::vector<Feature> features;
  auto trial = Trial::start(SYS_getppid, call_once);
  if (!trial) {
    features.push_back(say("user notification", false, true,
                           trial.error().message +
                               ": Linux 5.0 or later with CONFIG_SECCOMP_FILTER is needed, and no "
                               "other listener on this process"));
    return features;
  }
  features.push_back(say("user notification", true, true, "filters can have a listener"));
  auto listener = open_listener(trial->take_listener());
  if (!listener) {
    features.push_back(say("listener", false, true, listener.error().message));
    return features;
  }
  const bool sync = enable_sync_wake_up(**listener);
  features.push_back(say("synchronous wake-up", sync, false,
                         sync ? "a call and its answer stay on one CPU"
                              : "needs Linux 6.6; calls are served, but cost several times as much "
                                "where the sandbox has more than one CPU"));
  probe_call(**listener, features);
  if (trial->wait() == 0) features.push_back(probe_hang_up(**listener));
  features.push_back(probe_wait_killable());
  return features;
}

}  // namespace sidecall::kernel
