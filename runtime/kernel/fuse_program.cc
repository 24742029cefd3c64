#include "kernel/fuse_program.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "kernel/mount_calls.h"
#include "kernel/own_filter.h"
#include "kernel/privileges.h"

namespace sidecall::kernel {
namespace {

constexpr int kComingUpMilliseconds = 10'000;
constexpr unsigned kWritingOutSeconds = 10;
constexpr int kClaimTries = 250;
constexpr timespec kBetweenTries{.tv_sec = 0, .tv_nsec = 20'000'000};  // 5 s in all

constexpr int kNoSuchProgram = 127;  // as a shell says it

constexpr unsigned long kNoSymlinks = 256;  // MS_NOSYMFOLLOW, Linux 5.10
// Of the mount, which the kernel keeps without asking the program.
constexpr unsigned long kOfMount = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME |
                                   MS_NODIRATIME | MS_RELATIME | MS_STRICTATIME | kNoSymlinks;
// Of the filesystem, which libfuse passes on.
constexpr unsigned long kOfFilesystem = MS_RDONLY | MS_SYNCHRONOUS | MS_DIRSYNC;

constexpr const char* kSource = "/mnt/source";
constexpr const char* kPlace = "/mnt/place";

// Bounds what a program that has been taken over can take from the host. Processes are counted for
// the sandbox's root, with those of the container that are its: more than a container has.
constexpr std::array kLimits = {
    std::pair{RLIMIT_CORE, rlim_t{0}}, std::pair{RLIMIT_NOFILE, rlim_t{256}},
    std::pair{RLIMIT_NPROC, rlim_t{4096}}, std::pair{RLIMIT_AS, rlim_t{2} << 30U}};

// The names of the source and of the place, on a filesystem that this mount namespace alone has.
SysResult<void> make_places(int source) {
  if (::mount("sidecall", "/mnt", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "mode=0700,size=64k,nr_inodes=8") != 0 ||
      ::mkdir(kPlace, 0700) != 0) {
    return sys_failure(errno);
  }
  const UniqueFd file(::open(kSource, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0600));
  if (!file) return sys_failure(errno);
  return attach_mount(source, file.get());
}

// Two programs would ruin one filesystem; and one that has been unmounted goes on writing for a
// moment, which is waited for. The lock on a file lasts as long as the descriptor. A device is only
// asked for: programs that write claim it by O_EXCL (open(2)) themselves.
SysResult<UniqueFd> claim_source(unsigned long flags) {
  struct stat about {};
  if (::stat(kSource, &about) != 0) return sys_failure(errno);
  const bool is_device = S_ISBLK(about.st_mode);
  const int lock = ((flags & MS_RDONLY) != 0 ? LOCK_SH : LOCK_EX) | LOCK_NB;
  for (int tries = 0; tries < kClaimTries; ++tries) {
    UniqueFd source(::open(kSource, O_RDONLY | O_NONBLOCK | O_CLOEXEC | (is_device ? O_EXCL : 0)));
    if (!source && errno != EBUSY) return sys_failure(errno);
    if (source && is_device) return UniqueFd();
    if (source && ::flock(source.get(), lock) == 0) return source;
    ::nanosleep(&kBetweenTries, nullptr);
  }
  return sys_failure(EBUSY);
}

std::string options_of(const FuseMount& wanted) {
  // The kernel, not the program, compares modes with whoever asks, who need not be root.
  std::string options = "allow_other,default_permissions,nosuid,nodev";
  if ((wanted.flags & MS_RDONLY) != 0) options += ",ro";
  if ((wanted.flags & MS_SYNCHRONOUS) != 0) options += ",sync";
  if ((wanted.flags & MS_DIRSYNC) != 0) options += ",dirsync";
  if (!wanted.options.empty()) options.append(",").append(wanted.options);
  return options;
}

// `words`: where what it says goes.
[[noreturn]] void become_program(const FuseMount& wanted, int words) {
  std::vector<std::string> arguments = wanted.command;
  arguments.insert(arguments.end(), {kSource, kPlace, "-o", options_of(wanted)});
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(words, STDOUT_FILENO);  // fuse2fs says there what is wrong
  ::dup2(words, STDERR_FILENO);
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // To mount, and to open a source that the caller, but not the sandbox's root by itself, may.
  if (!keep_over_exec(1ULL << CAP_SYS_ADMIN | 1ULL << CAP_DAC_OVERRIDE) ||
      !filter_program_calls()) {
    ::_exit(1);
  }
  // Last: there may be no memory for us within them.
  for (const auto& [resource, most] : kLimits) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) ::_exit(1);
    limit.rlim_cur = limit.rlim_max = std::min(limit.rlim_max, most);
    if (::setrlimit(resource, &limit) != 0) ::_exit(1);
  }
  ::execvp(argv.front(), argv.data());
  ::_exit(errno == ENOENT ? kNoSuchProgram : 1);
}

// The wait status of the program's first process. ETIMEDOUT where it lasts too long.
SysResult<int> end_of(pid_t program) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, program, 0)));
  if (!pidfd) return sys_failure(errno);
  pollfd end{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  if (::poll(&end, 1, kComingUpMilliseconds) != 1) return sys_failure(ETIMEDOUT);
  int status = 0;
  if (::waitpid(program, &status, 0) != program) return sys_failure(errno);
  return status;
}

// What it has written, as one line that a log can bear.
std::string last_words(int from) {
  std::array<char, 240> bytes{};
  const ssize_t count = ::read(from, bytes.data(), bytes.size());
  std::string words(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (!words.empty() && words.back() == '\n') words.pop_back();
  for (char& letter : words) {
    if (std::isprint(static_cast<unsigned char>(letter)) == 0) letter = ' ';
  }
  return words;
}

SysResult<UniqueFd> mount_at_place(unsigned long flags) {
  // Asks the kernel alone: the program may not answer.
  struct statx about {};
  if (::statx(AT_FDCWD, kPlace, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &about) != 0 ||
      (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) {
    return sys_failure(EINVAL);
  }
  auto mount = copy_mount(AT_FDCWD, kPlace, false);
  if (!mount) return mount;
  // The copy is the one that lives: with its end the filesystem ends, and with that the program.
  if (::umount2(kPlace, MNT_DETACH) != 0) return sys_failure(errno);
  if (auto set = add_mount_attributes(mount->get(), (flags & kOfMount) | MS_NODEV); !set) {
    return tl::unexpected<Errno>(set.error());
  }
  return mount;
}

}  // namespace

bool fuse_flags_are_known(unsigned long flags) {
  if ((flags & MS_MGC_MSK) == MS_MGC_VAL) flags &= ~static_cast<unsigned long>(MS_MGC_MSK);
  return (flags & ~(kOfMount | kOfFilesystem | MS_SILENT)) == 0;
}

SysResult<UniqueFd> KernelFusePrograms::start(const FuseMount& wanted) {
  if (wanted.command.empty() || !fuse_flags_are_known(wanted.flags)) return sys_failure(EINVAL);
  if (auto made = make_places(wanted.source); !made) return tl::unexpected<Errno>(made.error());
  auto claimed = claim_source(wanted.flags);
  if (!claimed) return tl::unexpected<Errno>(claimed.error());
  claim_ = std::move(*claimed);
  // Read once: the program does not wait for that, and what does not fit is not kept.
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return sys_failure(errno);
  words_ = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t program = ::fork();
  if (program < 0) return sys_failure(errno);
  if (program == 0) become_program(wanted, theirs.get());
  theirs.reset();
  const auto status = end_of(program);
  if (status && *status == 0) return mount_at_place(wanted.flags);
  const bool is_missing = status && WIFEXITED(*status) && WEXITSTATUS(*status) == kNoSuchProgram;
  if (tells_) {
    const std::string why = !status      ? "it has not come up in time"
                            : is_missing ? "there is no such program in /usr or /bin"
                                         : last_words(words_.get());
    std::fprintf(stderr, "sidecall-worker: %s has not mounted: %s\n", wanted.command[0].c_str(),
                 why.c_str());
  }
  if (!status) return tl::unexpected<Errno>(status.error());
  return sys_failure(is_missing ? ENODEV : EINVAL);
}

int fork_first_process() {
  return static_cast<int>(
      ::syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, nullptr, nullptr, nullptr, 0));
}

void outlast_programs(int sandbox) {
  // The first process of a pid namespace gets only signals that it has a handler for.
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGCHLD, &action, nullptr);
  action.sa_handler = [](int) { ::_exit(0); };
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &child, &before);
  pollfd end{.fd = sandbox, .events = POLLIN, .revents = 0};
  for (;;) {
    pid_t reaped = 0;
    do {
      reaped = ::waitpid(-1, nullptr, WNOHANG);
    } while (reaped > 0);
    if (reaped < 0) ::_exit(0);
    // A child that ends between the two is seen as well: SIGCHLD gets through here alone.
    if (::ppoll(&end, 1, nullptr, &before) == 1) {
      end.fd = -1;
      ::alarm(kWritingOutSeconds);
    }
  }
}

}  // namespace sidecall::kernel
