#include "kernel/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <optional>

#include "base/file.h"
#include "base/pass_fd.h"
#include "kernel/limited_cgroups.h"
#include "kernel/listener.h"
#include "kernel/target.h"

namespace sidecall::testing {
namespace {

constexpr int kPatienceSeconds = 60;

// arch and nr of every route, notified; all else allowed.
SysResult<UniqueFd> notify_routes(const emulators::Program& program) {
  std::vector<sock_filter> code;
  const auto jump_unless = [](std::uint32_t value) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 3, value};
  };
  for (const emulators::Route& route : program.routes) {
    code.push_back({BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, arch)});
    code.push_back(jump_unless(kernel::audit_arch(route.abi)));
    code.push_back({BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)});
    code.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(route.nr)});
    code.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF});
  }
  code.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  const sock_fprog filter{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  const long fd =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
  if (fd < 0) return sys_failure(errno);
  return UniqueFd(static_cast<int>(fd));
}

bool write_map(pid_t pid, const char* name) {
  const auto file = open_file("/proc/" + std::to_string(pid) + "/" + name, O_WRONLY);
  return file && write_fd(file->get(), "0 " + std::to_string(kOutsideRoot) + " 65536\n");
}

struct Ends {
  UniqueFd ours;
  UniqueFd theirs;
};

Ends make_ends() {
  std::array<int, 2> pair{-1, -1};
  static_cast<void>(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()));
  // A body that hangs becomes a failure, not a hanging test.
  const timeval patience{.tv_sec = kPatienceSeconds, .tv_usec = 0};
  ::setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return {UniqueFd(pair[0]), UniqueFd(pair[1])};
}

bool say(int socket, std::string_view word, int fd = -1) {
  return send_with_fd(socket, word, fd).has_value();
}

std::string hear(int socket) {
  auto received = receive_with_fds(socket, 65536);
  if (!received) return received.error().message;
  // A body that dies is not one whose checks all held.
  return received->bytes.empty() ? "the other end has gone\n" : received->bytes;
}

[[noreturn]] void run_body(int socket, const Body& body) {
  Checks checks;
  body(checks);
  say(socket, checks.failures().empty() ? "fine" : checks.failures());
  ::_exit(0);
}

// Nothing that is mounted from here on spreads to the host.
bool keep_mounts() {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

[[noreturn]] void give_up(int socket, const char* what) {
  say(socket, std::string(what) + ": " + errno_name(errno));
  ::_exit(1);
}

// Goes on in a child where that is to be the first process of its pid namespace.
void become_first_process(int socket, const SandboxOptions& options) {
  if ((options.more_namespaces & CLONE_NEWPID) == 0) {
    say(socket, "first " + std::to_string(::getpid()));
    return;
  }
  const pid_t first = ::fork();
  if (first < 0) give_up(socket, "no first process");
  if (first != 0) {
    say(socket, "first " + std::to_string(first));
    ::waitpid(first, nullptr, 0);
    ::_exit(0);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) give_up(socket, "no /proc of its own");
}

[[noreturn]] void run_child(int socket, const SandboxOptions& options, const Body& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int namespaces = CLONE_NEWNS | CLONE_NEWUTS | options.more_namespaces |
                         (options.user_namespace ? CLONE_NEWUSER : 0);
  if (::unshare(namespaces) != 0) give_up(socket, "no namespaces");
  say(socket, "unshared");
  if (hear(socket) != "mapped") ::_exit(1);
  if (!keep_mounts()) give_up(socket, "no mounts of its own");
  if (options.user_namespace &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)) {
    give_up(socket, "no root inside");
  }
  // As execve(2) leaves a container's process: its /proc files belong to its own user.
  ::prctl(PR_SET_DUMPABLE, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // which the change of ids has cleared
  become_first_process(socket, options);
  if (hear(socket) != "begin") ::_exit(1);
  if (options.served) {
    auto listener =
        options.install_filter ? options.install_filter() : notify_routes(options.program);
    if (!listener) {
      errno = listener.error().value;
      give_up(socket, "no filter");
    }
    say(socket, "listener", listener->get());
    listener->reset();
    if (hear(socket) != "go") ::_exit(1);
  }
  run_body(socket, body);
}

// The sandbox's first process, held by a descriptor: another process may be its parent and reap it.
class FirstProcess {
 public:
  // It waits for a word from us, so that the number is its own.
  explicit FirstProcess(pid_t pid)
      : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  ~FirstProcess() { end(); }
  FirstProcess(const FirstProcess&) = delete;
  FirstProcess& operator=(const FirstProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Kills it, and all of its pid namespace. Returns when they have ended.
  void end() const {
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    pollfd ended{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    ::poll(&ended, 1, kPatienceSeconds * 1000);
    // Where it is our child: before Linux 6.11 a listener tells that its last caller has ended only
    // when that one is reaped. Fails where the parent is another.
    ::waitpid(pid_, nullptr, WNOHANG);
  }

 private:
  pid_t pid_;
  UniqueFd pidfd_;
};

// The program, without a wish that this kernel cannot fulfil: a worker would say so among the
// reports that tests read.
emulators::Program program_for_this_kernel(const SandboxOptions& options,
                                           const UniqueFd& listener) {
  emulators::Program program = options.program;
  auto opened = kernel::open_listener(UniqueFd(::fcntl(listener.get(), F_DUPFD_CLOEXEC, 0)));
  if (!opened || !kernel::enable_sync_wake_up(**opened)) program.sync_wake_up = false;
  return program;
}

// Serves the sandbox until its body has ended.
std::string serve(const FirstProcess& first, int socket, const SandboxOptions& options) {
  auto word = receive_with_fds(socket, 65536);
  if (!word || word->fds.size() != 1) return (word ? word->bytes : word.error().message) + "\n";
  const auto program = program_for_this_kernel(options, word->fds.front());
  auto worker = worker::WorkerProcess::launch(
      {.worker_path = SIDECALL_WORKER, .sandbox = "test", .cpus = {}, .program = &program});
  if (!worker) return worker.error().message + "\n";
  const auto ready = worker->receive_report();
  if (!ready || ready->kind != worker::WorkerReport::Kind::kReady) return "worker not ready\n";
  if (auto added = worker->add_listener(word->fds.front().get(), 1, first.pid(), first.pid());
      !added) {
    return added.error().message + "\n";
  }
  say(socket, "go");
  if (options.meanwhile) options.meanwhile(*worker, first.pid(), word->fds.front().get());
  std::string outcome = hear(socket);
  if (outcome == "fine") outcome.clear();
  first.end();
  for (;;) {
    const auto report = worker->receive_report();
    if (!report || report->kind == worker::WorkerReport::Kind::kEnded) break;
    if (report->kind == worker::WorkerReport::Kind::kListenerClosed) {
      static_cast<void>(worker->finish());
    } else if (report->kind == worker::WorkerReport::Kind::kMessage) {
      outcome += "worker: " + report->text + "\n";
    }
  }
  int status = 0;
  ::waitpid(worker->pid(), &status, 0);
  if (status != 0) outcome += "worker ended with status " + std::to_string(status) + "\n";
  return outcome;
}

// The rest of run_in_sandbox, where the child exists.
std::string attend(pid_t child, int socket, const SandboxOptions& options) {
  if (auto word = hear(socket); word != "unshared") return word + "\n";
  if (options.user_namespace && (!write_map(child, "uid_map") || !write_map(child, "gid_map"))) {
    return "writing id maps: " + errno_name(errno) + "\n";
  }
  say(socket, "mapped");
  const std::string word = hear(socket);
  if (!word.starts_with("first ")) return word + "\n";
  std::optional<LimitedCgroups> cgroups;
  const FirstProcess first(std::atoi(word.c_str() + 6));  // NOLINT(cert-err34-c): our own words
  if (options.memory_limit != 0) {
    auto made = LimitedCgroups::make(first.pid(), options.memory_limit);
    if (!made) return made.error().message + "\n";
    cgroups.emplace(*std::move(made));
  }
  say(socket, "begin");
  if (options.served) return serve(first, socket, options);
  std::string outcome = hear(socket);
  return outcome == "fine" ? "" : outcome;
}

}  // namespace

void Checks::expect(bool held, const std::string& what) {
  if (!held) failures_ += what + "\n";
}

void Checks::expect_ok(long result, const std::string& what) {
  expect(result >= 0, what + ": " + errno_name(errno) + " instead of success");
}

void Checks::expect_errno(long result, int number, const std::string& what) {
  const std::string got = result >= 0 ? std::to_string(result) : errno_name(errno);
  expect(result == -1 && errno == number, what + ": " + got + " instead of " + errno_name(number));
}

std::string run_natively(const Body& body) {
  Ends ends = make_ends();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0 || !keep_mounts()) {
      give_up(ends.theirs.get(), "no mounts of its own");
    }
    run_body(ends.theirs.get(), body);
  }
  ends.theirs.reset();
  std::string outcome = hear(ends.ours.get());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return outcome == "fine" ? "" : outcome;
}

std::string run_in_sandbox(const SandboxOptions& options, const Body& body) {
  Ends ends = make_ends();
  const pid_t child = ::fork();
  if (child == 0) run_child(ends.theirs.get(), options, body);
  ends.theirs.reset();
  std::string outcome = attend(child, ends.ours.get(), options);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return outcome;
}

emulators::Program emulate(const std::string& emulator, emulators::Options options,
                           const std::vector<std::pair<kernel::Abi, int>>& calls) {
  emulators::Program program;
  program.policy = "test";
  program.instances.push_back({.emulator = emulator, .options = std::move(options)});
  for (const auto& [abi, member_nr] : calls) {
    emulators::Route route{.abi = abi, .nr = member_nr, .name = emulator, .rules = {}};
    emulators::Rule rule;
    rule.action = emulators::Rule::Action::kEmulate;
    // Of one ABI the calls are given in the order of the row's members.
    for (const emulators::Route& before : program.routes) rule.member += before.abi == abi ? 1 : 0;
    route.rules.push_back(rule);
    program.routes.push_back(route);
  }
  return program;
}

}  // namespace sidecall::testing
