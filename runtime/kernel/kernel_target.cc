#include "kernel/kernel_target.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/file.h"
#include "kernel/memory_map.h"

namespace sidecall::kernel {
namespace {

constexpr std::size_t kPage = 4096;

// NS_GET_PID_FROM_PIDNS of linux/nsfs.h, Linux 6.11.
constexpr unsigned long kPidFromNamespace = _IOR(0xb7, 0x6, int);

// Copies from the thread's memory under the thread's own page protection. The number may name
// another thread by now: what was read counts only once the notification is found waiting.
ssize_t copy_from(pid_t tid, std::uint64_t address, std::span<std::byte> into) {
  const iovec local{.iov_base = into.data(), .iov_len = into.size()};
  // An address of the target's, which is none of ours.
  auto* const there = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  const iovec remote{.iov_base = there, .iov_len = into.size()};
  return ::process_vm_readv(tid, &local, 1, &remote, 1, 0);
}

// The same in the other direction.
ssize_t copy_to(pid_t tid, std::uint64_t address, std::span<const std::byte> data) {
  const iovec local{.iov_base = const_cast<std::byte*>(data.data()),  // NOLINT: it is only read
                    .iov_len = data.size()};
  auto* const there = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  const iovec remote{.iov_base = there, .iov_len = data.size()};
  return ::process_vm_writev(tid, &local, 1, &remote, 1, 0);
}

// A file of the proc below `root`, which is somebody else's: no link leads out of it, and what is
// no proc is not read.
Result<std::string> read_in_proc(int root, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const UniqueFd file(
      static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  struct statfs about {};
  if (!file || ::fstatfs(file.get(), &about) != 0 || about.f_type != PROC_SUPER_MAGIC) {
    return failure("no proc");
  }
  return read_fd(file.get(), 1U << 20U);
}

// Why process_vm_readv(2) or process_vm_writev(2) copied nothing, to the caller.
int copy_error(int number) {
  if (number == EPERM) return kOutOfReach;
  return number == ENOMEM ? EFAULT : number;
}

SysResult<NamespaceId> own_uts(int proc) {
  const auto self = ThreadDirectory::open(proc, ::gettid());
  if (!self) return tl::unexpected<Errno>(self.error());
  return self->namespace_id("ns/uts");
}

}  // namespace

SysResult<SandboxNamespaces> sandbox_namespaces(int proc, pid_t first_pid) {
  SandboxNamespaces namespaces;
  namespaces.proc = UniqueFd(::fcntl(proc, F_DUPFD_CLOEXEC, 0));
  if (!namespaces.proc) return sys_failure(errno);
  const auto first = ThreadDirectory::open(namespaces.proc.get(), first_pid);
  if (!first) return tl::unexpected<Errno>(first.error());
  const auto user = first->namespace_id("ns/user");
  if (!user) return tl::unexpected<Errno>(user.error());
  namespaces.user = *user;
  const auto pids = first->namespace_id("ns/pid");
  if (!pids) return tl::unexpected<Errno>(pids.error());
  namespaces.pids = *pids;
  auto uts = first->open_file("ns/uts", O_RDONLY);
  if (!uts) return tl::unexpected<Errno>(uts.error());
  namespaces.uts = std::move(*uts);
  const auto own = own_uts(namespaces.proc.get());
  if (!own) return tl::unexpected<Errno>(own.error());
  namespaces.own_uts = *own;
  return namespaces;
}

SysResult<void> join_uts_namespace(SandboxNamespaces& namespaces) {
  if (::setns(namespaces.uts.get(), CLONE_NEWUTS) != 0) return sys_failure(errno);
  const auto own = own_uts(namespaces.proc.get());
  if (!own) return tl::unexpected<Errno>(own.error());
  namespaces.own_uts = *own;
  return {};
}

template <typename T>
SysResult<T> KernelTarget::while_waiting(SysResult<T> result) {
  if (!listener_.is_waiting(id_)) return sys_failure(ESRCH);
  return result;
}

template <typename T>
SysResult<T> KernelTarget::of_descriptor(SysResult<T> looked) {
  // Where the thread is there, what is missing is the descriptor.
  if (!looked && looked.error().value == ESRCH && listener_.is_waiting(id_)) {
    return sys_failure(EBADF);
  }
  return looked;
}

template <typename Look>
std::invoke_result_t<Look&, const ThreadDirectory&> KernelTarget::look(Look look) {
  if (directory_ == nullptr) {
    directory_ = threads_.find(tid_);
    if (directory_ != nullptr) {
      // A thread that is there has its number to itself: it is the caller, if that waits after
      // this.
      auto looked = look(*directory_);
      if (looked || looked.error().value != ESRCH) return while_waiting(std::move(looked));
    }
    auto opened = while_waiting(ThreadDirectory::open(namespaces_.proc.get(), tid_));
    if (!opened) return tl::unexpected<Errno>(opened.error());
    directory_ = &threads_.keep(tid_, std::move(*opened));
  }
  return while_waiting(look(*directory_));
}

SysResult<void> KernelTarget::read(std::uint64_t address, std::span<std::byte> into) {
  const ssize_t copied = copy_from(tid_, address, into);
  SysResult<void> result;
  if (copied != static_cast<ssize_t>(into.size())) {
    result = sys_failure(copied < 0 ? copy_error(errno) : EFAULT);
  }
  return while_waiting(result);
}

SysResult<std::string> KernelTarget::read_string(std::uint64_t address, std::size_t limit) {
  std::string text;
  std::array<std::byte, kPage> chunk;
  while (text.size() < limit) {
    // Never across a page's end: the string may stop short of an unmapped one.
    const std::uint64_t at = address + text.size();
    const std::size_t want = std::min(kPage - at % kPage, limit - text.size());
    const ssize_t copied = copy_from(tid_, at, std::span(chunk).first(want));
    if (copied <= 0) {
      const int number = copied < 0 ? copy_error(errno) : EFAULT;
      return while_waiting<std::string>(sys_failure(number));
    }
    const auto* begin = reinterpret_cast<const char*>(chunk.data());
    const auto count = static_cast<std::size_t>(copied);
    const std::size_t length = ::strnlen(begin, count);
    text.append(begin, length);
    if (length < count) return while_waiting<std::string>(std::move(text));
  }
  return while_waiting<std::string>(sys_failure(ENAMETOOLONG));
}

SysResult<std::string> KernelTarget::read_page(std::uint64_t address) {
  std::string text(kPage, '\0');
  const std::span<std::byte> into = std::as_writable_bytes(std::span(text));
  // Up to the page's end first: what lies beyond may not be there.
  const std::size_t first = kPage - address % kPage;
  const ssize_t copied = copy_from(tid_, address, into.first(first));
  SysResult<std::string> result;
  if (copied <= 0) {
    result = sys_failure(copied < 0 ? copy_error(errno) : EFAULT);
  } else {
    if (static_cast<std::size_t>(copied) == first && first < kPage) {
      static_cast<void>(copy_from(tid_, address + first, into.subspan(first)));
    }
    text.resize(::strnlen(text.data(), kPage - 1));
    result = std::move(text);
  }
  return while_waiting(std::move(result));
}

SysResult<void> KernelTarget::write(std::uint64_t address, std::span<const std::byte> data) {
  if (namespaces_.confined) {
    if (!listener_.is_waiting(id_)) return sys_failure(ESRCH);
    const ssize_t written = copy_to(tid_, address, data);
    if (written == static_cast<ssize_t>(data.size())) return {};
    return sys_failure(written < 0 ? copy_error(errno) : EFAULT);
  }
  // Through /proc/TID/mem, whose descriptor stays bound to this address space: a write by thread
  // number could reach whoever has the number next.
  const auto maps = look([](const auto& its) { return its.open_file("maps", O_RDONLY); });
  if (!maps) return tl::unexpected<Errno>(maps.error());
  if (auto writable = check_writable(maps->get(), address, data.size()); !writable) return writable;
  const auto memory = look([](const auto& its) { return its.open_file("mem", O_RDWR); });
  if (!memory) return tl::unexpected<Errno>(memory.error());
  const ssize_t written =
      ::pwrite(memory->get(), data.data(), data.size(), static_cast<off_t>(address));
  if (written != static_cast<ssize_t>(data.size())) return sys_failure(EFAULT);
  return {};
}

SysResult<Credentials> KernelTarget::credentials() {
  if (credentials_) {
    if (!listener_.is_waiting(id_)) return sys_failure(ESRCH);
    return *credentials_;
  }
  auto found = look([](const auto& its) { return its.credentials(); });
  if (found) credentials_ = *found;
  return found;
}

SysResult<bool> KernelTarget::in_sandbox_user_namespace() {
  return look([](const auto& its) { return its.namespace_id("ns/user"); })
      .map([&](NamespaceId user) { return user == namespaces_.user; });
}

SysResult<bool> KernelTarget::in_sandbox_pid_namespace() {
  return look([](const auto& its) { return its.namespace_id("ns/pid"); })
      .map([&](NamespaceId pids) { return pids == namespaces_.pids; });
}

SysResult<UniqueFd> KernelTarget::open_namespace(const char* name) {
  const std::string path = std::string("ns/") + name;
  return look([&](const auto& its) { return its.open_file(path.c_str(), O_RDONLY); });
}

SysResult<utsname> KernelTarget::uts() {
  const auto uts = look([](const auto& its) { return its.namespace_id("ns/uts"); });
  if (!uts) return tl::unexpected<Errno>(uts.error());
  utsname names{};
  if (*uts == namespaces_.own_uts) {
    if (::uname(&names) != 0) return sys_failure(errno);
    return names;
  }
  const auto theirs = look([](const auto& its) { return its.open_file("ns/uts", O_RDONLY); });
  if (!theirs) return tl::unexpected<Errno>(theirs.error());
  const UniqueFd ours(::openat(namespaces_.proc.get(), "thread-self/ns/uts", O_RDONLY | O_CLOEXEC));
  if (!ours || ::setns(theirs->get(), CLONE_NEWUTS) != 0) return sys_failure(errno);
  const int answered = ::uname(&names);
  const int number = errno;
  if (::setns(ours.get(), CLONE_NEWUTS) != 0) std::abort();  // would answer for the wrong sandbox
  if (answered != 0) return sys_failure(number);
  return names;
}

SysResult<std::uint32_t> KernelTarget::personality() {
  return look([](const auto& its) { return its.personality(); });
}

SysResult<pid_t> KernelTarget::thread_of(pid_t number) {
  if (number == 0) return tid_;
  const auto pids = open_namespace("pid");
  if (!pids) return tl::unexpected<Errno>(pids.error());
  const int ours = ::ioctl(pids->get(), kPidFromNamespace, number);
  if (ours > 0) return ours;
  if (errno == ESRCH) return sys_failure(ESRCH);
  const auto own = credentials();
  if (!own) return tl::unexpected<Errno>(own.error());
  if (!own->tids.empty() && number == own->tids.back()) return tid_;
  return sys_failure(EOPNOTSUPP);
}

SysResult<std::size_t> KernelTarget::proc_level(const Credentials& credentials) {
  const auto directory = root();
  if (!directory) return tl::unexpected<Errno>(directory.error());
  const std::vector<pid_t>& numbers = credentials.tgids;
  // A /proc lists a process's numbers from its own pid namespace inwards, and the first is its own
  // there. The longest list first: a shorter one may be another process's of an outer namespace.
  for (std::size_t level = 0; level < numbers.size(); ++level) {
    const std::string path = "proc/" + std::to_string(numbers[level]) + "/status";
    const auto status = read_in_proc(directory->get(), path);
    const auto theirs = status ? parse_status(*status) : sys_failure(ENOENT);
    if (theirs && std::equal(numbers.begin() + static_cast<std::ptrdiff_t>(level), numbers.end(),
                             theirs->tgids.begin(), theirs->tgids.end())) {
      return level;
    }
  }
  return sys_failure(ENOENT);
}

SysResult<UniqueFd> KernelTarget::root() {
  return look([](const auto& its) { return its.open_file("root", O_PATH | O_DIRECTORY); });
}

SysResult<UniqueFd> KernelTarget::working_directory() {
  return look([](const auto& its) { return its.open_file("cwd", O_PATH | O_DIRECTORY); });
}

SysResult<std::string> KernelTarget::working_directory_name() {
  auto root = look([](const auto& its) { return its.link("root"); });
  if (!root) return root;
  auto directory = look([](const auto& its) { return its.link("cwd"); });
  // Both as our own root has them.
  if (directory && *root != "/" && directory->starts_with(*root)) directory->erase(0, root->size());
  if (directory && directory->empty()) *directory = "/";
  return directory;
}

SysResult<UniqueFd> KernelTarget::descriptor(int number) {
  if (number < 0) return sys_failure(EBADF);
  const std::string name = "fd/" + std::to_string(number);
  return of_descriptor(look([&](const auto& its) { return its.open_file(name.c_str(), O_PATH); }));
}

SysResult<UniqueFd> KernelTarget::open_descriptor(int number) {
  auto opened = descriptor(number);
  if (!opened) return opened;
  const auto flags =
      of_descriptor(look([&](const auto& its) { return its.descriptor_flags(number); }));
  if (!flags) return tl::unexpected<Errno>(flags.error());
  if ((*flags & O_PATH) != 0) return sys_failure(EBADF);
  return opened;
}

}  // namespace sidecall::kernel
