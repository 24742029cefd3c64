#include "grid/caller.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

namespace sidecall::grid {
namespace {

// The calls that change the calling thread alone, as glibc's wrappers do not. Those of i386 that
// take ids of 32 bits have a name of their own.
#if defined(__i386__)
constexpr long kSetGroups = SYS_setgroups32;
constexpr long kSetFsuid = SYS_setfsuid32;
constexpr long kSetFsgid = SYS_setfsgid32;
#else
constexpr long kSetGroups = SYS_setgroups;
constexpr long kSetFsuid = SYS_setfsuid;
constexpr long kSetFsgid = SYS_setfsgid;
#endif

constexpr std::size_t kPage = 4096;

using CapabilityData = std::array<__user_cap_data_struct, 2>;

CapabilityData read_capabilities(const Checks& check) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  CapabilityData data{};
  check.arrange("capget", ::syscall(SYS_capget, &header, data.data()) == 0);
  return data;
}

void write_capabilities(const Checks& check, const CapabilityData& data) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  check.arrange("capset", ::syscall(SYS_capset, &header, data.data()) == 0);
}

std::uint32_t& effective_word(CapabilityData& data, int capability) {
  return data.at(static_cast<std::size_t>(capability) / 32).effective;
}

std::uint32_t bit(int capability) {
  return 1U << (static_cast<unsigned>(capability) % 32);
}

// setfsuid(2) reports no failure: asking for an id that cannot be gives the current one.
bool set_filesystem_id(long call, unsigned id) {
  ::syscall(call, id);
  return static_cast<unsigned>(::syscall(call, -1)) == id;
}

}  // namespace

void in_child(const Checks& check, const std::function<void()>& act) {
  const pid_t child = ::fork();
  check.arrange("fork", child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a case that hangs leaves nothing behind
    act();
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  check.arrange("a child that ends well", status == 0);
}

void in_thread(const std::function<void()>& act) {
  std::thread(act).join();
}

void in_thread_with_own_directory(const Checks& check, const std::function<void()>& act) {
  in_thread([&] {
    check.arrange("unshare CLONE_FS", ::unshare(CLONE_FS) == 0);
    act();
  });
}

void keep_capabilities(const Checks& check, std::initializer_list<int> capabilities) {
  CapabilityData data = read_capabilities(check);
  for (auto& word : data) word.effective = 0;
  for (const int capability : capabilities) effective_word(data, capability) |= bit(capability);
  write_capabilities(check, data);
}

void drop_capability(const Checks& check, int capability) {
  CapabilityData data = read_capabilities(check);
  effective_word(data, capability) &= ~bit(capability);
  write_capabilities(check, data);
}

void act_as(const Checks& check, const Identity& who, std::initializer_list<int> capabilities) {
  check.arrange("setgroups", ::syscall(kSetGroups, who.groups.size(), who.groups.data()) == 0);
  check.arrange("setfsgid", set_filesystem_id(kSetFsgid, who.gid));
  check.arrange("setfsuid", set_filesystem_id(kSetFsuid, who.uid));
  keep_capabilities(check, capabilities);
}

void own_mounts(const Checks& check) {
  check.arrange("unshare CLONE_NEWNS", ::unshare(CLONE_NEWNS) == 0);
  check.arrange("making mounts private",
                ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
}

void make_read_only(const Checks& check, const std::string& path) {
  check.arrange("a bind mount",
                ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0);
  // A user namespace may not clear what its parent has set on the mount.
  for (const unsigned long kept : {0UL, static_cast<unsigned long>(MS_NODEV | MS_NOSUID)}) {
    const unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | kept;
    if (::mount(nullptr, path.c_str(), nullptr, flags, nullptr) == 0) return;
  }
  check.arrange("a read-only mount", false);
}

void make_directory(const Checks& check, const std::string& path, mode_t mode) {
  check.arrange("mkdir " + path, ::mkdir(path.c_str(), 0700) == 0);
  check.arrange("chmod " + path, ::chmod(path.c_str(), mode) == 0);
}

void make_link(const Checks& check, const std::string& target, const std::string& path) {
  check.arrange("symlink " + path, ::symlink(target.c_str(), path.c_str()) == 0);
}

void make_file(const Checks& check, const std::string& path) {
  check.arrange("making " + path, ::close(::open(path.c_str(), O_CREAT | O_EXCL, 0644)) == 0);
}

void change_owner(const Checks& check, const std::string& path, uid_t uid, gid_t gid) {
  check.arrange("chown " + path, ::chown(path.c_str(), uid, gid) == 0);
}

int open_descriptor(const Checks& check, const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  check.arrange("opening " + path, fd >= 0);
  return fd;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

Border::Border(const Checks& check, Beyond beyond) {
  void* const pages =
      ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check.arrange("mmap", pages != MAP_FAILED);
  line_ = static_cast<char*>(pages) + kPage;
  const bool done =
      beyond == Beyond::kUnmapped
          ? ::munmap(line_, kPage) == 0
          : ::mprotect(line_, kPage, beyond == Beyond::kReadOnly ? PROT_READ : PROT_NONE) == 0;
  check.arrange("the second page", done);
}

char* Border::place_before(std::string_view text) const {
  char* const start = line_ - text.size();
  std::memcpy(start, text.data(), text.size());
  return start;
}

}  // namespace sidecall::grid
