#include "cli/recording.h"

#include <fcntl.h>
#include <linux/xattr.h>
#include <seccomp.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "cli/json_writer.h"
#include "emulators/conditions.h"

namespace sidecall::cli {
namespace {

constexpr std::string_view kAllow = "SCMP_ACT_ALLOW";
constexpr std::size_t kMostPath = 4096;

// What crun and runc call between putting a container under its filter and its program's first
// instruction, as far as a program of its own would not.
constexpr std::array kStart = {"access",
                               "arch_prctl",
                               "brk",
                               "capget",
                               "capset",
                               "chdir",
                               "clone",
                               "clone3",
                               "close",
                               "close_range",
                               "dup2",
                               "dup3",
                               "epoll_ctl",
                               "epoll_pwait",
                               "execve",
                               "exit_group",
                               "faccessat2",
                               "fchdir",
                               "fcntl",
                               "fstat",
                               "fstatfs",
                               "futex",
                               "getcwd",
                               "getdents64",
                               "getpid",
                               "getppid",
                               "getrandom",
                               "getuid",
                               "gettid",
                               "ioctl",
                               "keyctl",
                               "lseek",
                               "madvise",
                               "mmap",
                               "mprotect",
                               "munmap",
                               "nanosleep",
                               "newfstatat",
                               "open",
                               "openat",
                               "poll",
                               "prctl",
                               "prlimit64",
                               "read",
                               "readlinkat",
                               "recvmsg",
                               "rseq",
                               "rt_sigaction",
                               "rt_sigreturn",
                               "rt_sigprocmask",
                               "sched_getaffinity",
                               "sched_yield",
                               "sendmsg",
                               "sendto",
                               "set_robust_list",
                               "set_tid_address",
                               "setgid",
                               "setgroups",
                               "setresgid",
                               "setresuid",
                               "setsid",
                               "setuid",
                               "sigaltstack",
                               "stat",
                               "statx",
                               "symlinkat",
                               "tgkill",
                               "umask",
                               "wait4",
                               "write"};

std::optional<std::string> name_of(const kernel::Notification& call) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(call.arch, call.nr), &std::free);
  if (name == nullptr) return std::nullopt;
  return name.get();
}

std::string device_name(mode_t type, std::uint64_t major, std::uint64_t minor) {
  return std::string(S_ISBLK(type) ? "b " : "c ") + std::to_string(major) + ":" +
         std::to_string(minor);
}

// "size" and "mode" of "size=1m,mode=755".
std::set<std::string> option_names(std::string_view data) {
  std::set<std::string> names;
  while (!data.empty()) {
    const std::string_view option = data.substr(0, data.find(','));
    const std::string_view name = option.substr(0, option.find('='));
    // Of a server its address is listed, not only that there is one.
    if (!name.empty()) names.emplace(name == "addr" ? option : name);
    data.remove_prefix(std::min(option.size() + 1, data.size()));
  }
  return names;
}

template <typename Strings>
void write_list(JsonWriter& json, std::string_view key, const Strings& values) {
  json.key(key);
  json.open_array();
  for (const auto& value : values) json.string(value);
  json.close();
}

}  // namespace

Recording::Recording(oci::SeccompProfile base) : base_(std::move(base)) {
  for (const oci::SeccompRule& rule : base_.syscalls) {
    if (rule.action != kAllow) continue;
    for (const std::string& name : rule.names) {
      InBase& known = in_base_[name];
      if (rule.args.empty()) known.always = true;
      known.when.push_back(rule.args);
    }
  }
}

void Recording::note(const kernel::Notification& call, kernel::Target& target) {
  const auto name = name_of(call);
  if (!name) return;
  calls_.insert(*name);
  const auto known = in_base_.find(*name);
  const bool allowed =
      known == in_base_.end()
          ? base_.default_action == kAllow
          : known->second.always ||
                std::any_of(known->second.when.begin(), known->second.when.end(),
                            [&](const auto& when) { return emulators::hold(when, call.args); });
  if (!allowed) beyond_base_.insert(*name);
  if (*name == "mknod") note_node(call.args[1], call.args[2]);
  if (*name == "mknodat") note_node(call.args[2], call.args[3]);
  if (*name == "mount") note_mount(call, target);
  if (*name == "setxattr" || *name == "lsetxattr" || *name == "fsetxattr" ||
      *name == "removexattr" || *name == "lremovexattr" || *name == "fremovexattr") {
    note_attribute(call.args[1], target);
  }
}

void Recording::note_node(std::uint64_t mode, std::uint64_t device) {
  const auto type = static_cast<mode_t>(mode & S_IFMT);
  // A character device 0:0 is an overlay's whiteout, which anybody may make.
  if (!S_ISBLK(type) && (!S_ISCHR(type) || static_cast<std::uint32_t>(device) == 0)) return;
  // The kernel's encoding of a system call's argument: new_decode_dev().
  const std::uint64_t major = device >> 8U & 0xfffU;
  const std::uint64_t minor = (device & 0xffU) | (device >> 12U & 0xfff00U);
  nodes_.insert(device_name(type, major, minor));
}

void Recording::note_mount(const kernel::Notification& call, kernel::Target& target) {
  constexpr std::uint64_t kOtherActions =
      MS_REMOUNT | MS_BIND | MS_MOVE | MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE;
  if ((call.args[3] & kOtherActions) != 0) return;
  const auto type = target.read_string(call.args[2], kMostPath);
  if (!type) return;
  std::set<std::string>& options = filesystems_[*type];
  if (const auto data = target.read_page(call.args[4])) options.merge(option_names(*data));
  const auto source = target.read_string(call.args[0], kMostPath);
  if (!source || source->empty()) return;
  const auto place = source->front() == '/' ? target.root() : target.working_directory();
  if (!place) return;
  struct stat about {};
  const char* const path = source->c_str() + source->find_first_not_of('/');
  if (source->find_first_not_of('/') != std::string::npos &&
      ::fstatat(place->get(), path, &about, 0) == 0 && S_ISBLK(about.st_mode)) {
    sources_.insert(
        device_name(S_IFBLK, gnu_dev_major(about.st_rdev), gnu_dev_minor(about.st_rdev)));
  }
}

void Recording::note_attribute(std::uint64_t name, kernel::Target& target) {
  const auto text = target.read_string(name, XATTR_NAME_MAX + 1);
  // File capabilities belong to a container's own root.
  if (!text || *text == XATTR_NAME_CAPS) return;
  for (const std::string_view prefix : {XATTR_TRUSTED_PREFIX, XATTR_SECURITY_PREFIX}) {
    if (text->starts_with(prefix) && text->size() > prefix.size()) attributes_.insert(*text);
  }
}

bool Recording::stays_in_base(const std::string& name) const {
  const auto known = in_base_.find(name);
  return known != in_base_.end() && !known->second.always && beyond_base_.count(name) == 0;
}

oci::SeccompProfile Recording::profile() const {
  oci::SeccompProfile profile = oci::allow_all_profile();
  profile.default_action = "SCMP_ACT_ERRNO";
  profile.default_errno_ret = ENOSYS;
  profile.syscalls.clear();
  std::set<std::string> always(kStart.begin(), kStart.end());
  std::vector<oci::SeccompRule> conditional;
  for (const std::string& name : calls_) {
    if (!stays_in_base(name)) {
      always.insert(name);
    } else if (always.count(name) == 0) {
      for (const emulators::Conditions& when : in_base_.at(name).when) {
        conditional.push_back(
            {.names = {name}, .action = std::string(kAllow), .errno_ret = {}, .args = when});
      }
    }
  }
  profile.syscalls.push_back({.names = {always.begin(), always.end()},
                              .action = std::string(kAllow),
                              .errno_ret = {},
                              .args = {}});
  profile.syscalls.insert(profile.syscalls.end(), conditional.begin(), conditional.end());
  return profile;
}

std::string Recording::policy() const {
  JsonWriter json;
  const auto begin_rule = [&](std::string_view emulator) {
    json.open_object();
    json.key("emulate");
    json.string(emulator);
    json.key("options");
    json.open_object();
  };
  const auto end_rule = [&] {
    json.close();
    json.close();
  };
  json.open_object();
  json.key("description");
  json.string("Recorded: what the workload did that takes more than a container's root has");
  json.key("rules");
  json.open_array();
  if (!nodes_.empty()) {
    begin_rule("mknod");
    write_list(json, "devices", nodes_);
    end_rule();
  }
  if (!filesystems_.empty()) {
    begin_rule("mount");
    std::vector<std::string> entries;
    for (const auto& [type, options] : filesystems_) {
      std::string entry = type;
      for (const std::string& option : options) {
        entry += (entry.size() == type.size() ? ": " : ",") + option;
      }
      entries.push_back(std::move(entry));
    }
    write_list(json, "filesystems", entries);
    if (!sources_.empty()) write_list(json, "devices", sources_);
    end_rule();
  }
  if (!attributes_.empty()) {
    begin_rule("xattr");
    write_list(json, "names", attributes_);
    end_rule();
  }
  json.close();
  json.close();
  return json.take();
}

std::string Recording::difference() const {
  std::map<std::string, char> lines;
  for (const std::string& name : beyond_base_) lines[name] = '+';
  for (const auto& [name, _] : in_base_) {
    const bool starts = std::find(kStart.begin(), kStart.end(), name) != kStart.end();
    // The other names of calls that are another ABI's alone are noise.
    const bool is_native = seccomp_syscall_resolve_name(name.c_str()) >= 0;
    if (calls_.count(name) == 0 && !starts && is_native) lines[name] = '-';
  }
  std::string text;
  for (const auto& [name, sign] : lines) text += std::string(1, sign) + " " + name + "\n";
  return text;
}

}  // namespace sidecall::cli
