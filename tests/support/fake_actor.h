// A kernel::Actor and emulators::Helpers that make nothing and remember what they were asked for.
#pragma once

#include <fcntl.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "emulators/emulator.h"
#include "kernel/actor.h"
#include "support/fd_name.h"

namespace sidecall::support {

// Attributes by fd_name() and name.
class FakeAttributes final : public kernel::FileAttributes {
 public:
  using Key = std::pair<std::string, std::string>;
  std::map<Key, std::string> values;
  std::vector<std::string> asked;  // "set FILE NAME FLAGS", "remove FILE NAME", …
  int failure = 0;                 // the errno that everything fails with
  bool hides_trusted = false;      // as the kernel does from who is not the host's root

  SysResult<void> set(int file, const std::string& name, std::string_view value,
                      int flags) override {
    asked.push_back("set " + fd_name(file) + " " + name + " " + std::to_string(flags));
    if (failure != 0) return sys_failure(failure);
    if (hides(name)) return sys_failure(EPERM);
    values.insert_or_assign({fd_name(file), name}, std::string(value));
    return {};
  }
  SysResult<void> remove(int file, const std::string& name) override {
    asked.push_back("remove " + fd_name(file) + " " + name);
    if (failure != 0) return sys_failure(failure);
    if (hides(name)) return sys_failure(EPERM);
    if (values.erase({fd_name(file), name}) == 0) return sys_failure(ENODATA);
    return {};
  }
  SysResult<std::string> get(int file, const std::string& name) override {
    asked.push_back("get " + fd_name(file) + " " + name);
    if (failure != 0) return sys_failure(failure);
    const auto found = values.find({fd_name(file), name});
    if (found == values.end() || hides(name)) return sys_failure(ENODATA);
    return found->second;
  }
  SysResult<std::string> list(int file) override {
    asked.push_back("list " + fd_name(file));
    if (failure != 0) return sys_failure(failure);
    std::string names;
    for (const auto& [key, value] : values) {
      if (key.first == fd_name(file) && !hides(key.second)) names.append(key.second) += '\0';
    }
    return names;
  }

 private:
  [[nodiscard]] bool hides(const std::string& name) const {
    return hides_trusted && name.starts_with("trusted.");
  }
};

// The caller's file system: opening gives a descriptor that fd_name() calls by its path.
class FakeFiles final : public kernel::CallerFiles {
 public:
  struct Node {
    std::string parent;  // fd_name()
    std::string name;
    mode_t mode = 0;
    dev_t device = 0;
  };
  std::vector<Node> asked;
  std::set<std::string> directories;  // paths that give a descriptor on a directory
  int open_failure = 0;
  int make_failure = EPERM;  // as the kernel answers a caller without CAP_MKNOD

  SysResult<UniqueFd> open_path(const std::string& path, int) override {
    if (open_failure != 0) return sys_failure(open_failure);
    if (directories.contains(path)) return UniqueFd(::open("/", O_PATH | O_CLOEXEC));
    return named_fd(path);
  }
  SysResult<UniqueFd> open_file(const std::string& path, int, mode_t) override {
    return open_path(path, 0);
  }
  SysResult<void> make_node(int parent, const std::string& name, mode_t mode,
                            dev_t device) override {
    asked.push_back({.parent = fd_name(parent), .name = name, .mode = mode, .device = device});
    if (make_failure != 0) return sys_failure(make_failure);
    return {};
  }

  FakeAttributes own_attributes;
  kernel::FileAttributes& attributes() override { return own_attributes; }

  struct Chown {
    std::string file;  // fd_name()
    uid_t user = 0;
    gid_t group = 0;
  };
  std::vector<Chown> chowns;
  int chown_failure = EPERM;  // as the kernel answers for an owner that the sandbox has not
  SysResult<void> change_owner(int file, uid_t user, gid_t group) override {
    chowns.push_back({.file = fd_name(file), .user = user, .group = group});
    if (chown_failure != 0) return sys_failure(chown_failure);
    return {};
  }

  std::vector<std::string> removed;
  std::vector<std::string> files_made;
  SysResult<void> remove(int, const std::string& name) override {
    removed.push_back(name);
    return {};
  }
  SysResult<UniqueFd> make_file(int, const std::string& name) override {
    files_made.push_back(name);
    return named_fd("file-" + name);
  }

  // Every mount that is made gets the next number; a descriptor is on the mount made last.
  std::vector<kernel::MountArguments> mounted;
  std::vector<std::pair<std::string, std::string>> attached;  // fd_name() of mount and place
  std::vector<std::string> detached;
  std::uint64_t last_mount = 100;
  int mount_failure = 0;

  SysResult<void> mount(const kernel::MountArguments& arguments) override {
    mounted.push_back(arguments);
    if (mount_failure != 0) return sys_failure(mount_failure);
    ++last_mount;
    return {};
  }
  SysResult<void> attach_mount(int mount, int target) override {
    if (mount_failure != 0) return sys_failure(mount_failure);
    attached.emplace_back(fd_name(mount), fd_name(target));
    ++last_mount;
    return {};
  }
  SysResult<void> detach_mount(int mount) override {
    detached.push_back(fd_name(mount));
    return {};
  }
  SysResult<std::uint64_t> mount_id(int) override { return last_mount; }
  std::vector<std::pair<std::string, bool>> lent;  // fd_name(), and whether for writing
  int lend_failure = 0;
  SysResult<UniqueFd> copy_file(int file, bool writable) override {
    lent.emplace_back(fd_name(file), writable);
    if (lend_failure != 0) return sys_failure(lend_failure);
    return named_fd("lent");
  }
  SysResult<UniqueFd> copy_proc(unsigned long) override { return named_fd("copy-of-proc"); }
  SysResult<UniqueFd> new_proc(int, unsigned long) override { return named_fd("new-proc"); }
};

class FakeActor final : public kernel::Actor {
 public:
  struct View {
    std::string root;  // fd_name() of the view's descriptors
    std::string base;
    kernel::Credentials credentials;
    std::uint64_t lent = 0;
    std::size_t namespaces = 0;
  };
  FakeFiles files;
  std::vector<View> views;
  int failure = 0;  // of taking the view on

  SysResult<void> as_caller(const kernel::CallerView& view, Act act) override {
    views.push_back({.root = fd_name(view.root.get()),
                     .base = fd_name(view.base.get()),
                     .credentials = view.credentials,
                     .lent = view.lent,
                     .namespaces = view.other_namespaces.size()});
    if (failure != 0) return sys_failure(failure);
    return act(files);
  }
  SysResult<UniqueFd> take_aside(const std::string& path) override { return named_fd(path); }
};

// The helper's system calls.
class FakeHost final : public kernel::HostActions {
 public:
  struct Node {
    std::string parent;  // fd_name()
    std::string name;
    mode_t mode = 0;
    dev_t device = 0;
    kernel::Owner owner;
  };
  std::vector<Node> made;
  int failure = 0;  // the errno that everything fails with

  SysResult<void> make_node(int parent, const std::string& name, mode_t mode, dev_t device,
                            const kernel::Owner& owner) override {
    if (failure != 0) return sys_failure(failure);
    made.push_back(
        {.parent = fd_name(parent), .name = name, .mode = mode, .device = device, .owner = owner});
    return {};
  }

  FakeAttributes own_attributes;
  kernel::FileAttributes& attributes() override { return own_attributes; }

  std::vector<timespec> times;  // that the clock was set to
  std::vector<struct timezone> zones;
  std::vector<timex> adjustments;
  int clock_state = TIME_OK;
  SysResult<void> set_clock(const std::optional<timespec>& time,
                            const std::optional<struct timezone>& zone) override {
    if (failure != 0) return sys_failure(failure);
    if (time) times.push_back(*time);
    if (zone) zones.push_back(*zone);
    return {};
  }
  // Shows that what goes back is the host's.
  SysResult<int> adjust_clock(timex& adjustment) override {
    if (failure != 0) return sys_failure(failure);
    adjustments.push_back(adjustment);
    adjustment.tai = 37;
    return clock_state;
  }

  std::vector<std::pair<std::string, kernel::OwnerChange>> chowns;  // by fd_name()
  SysResult<void> change_owner(int file, const kernel::OwnerChange& wanted) override {
    if (failure != 0) return sys_failure(failure);
    chowns.emplace_back(fd_name(file), wanted);
    return {};
  }

  bool nodes_work = true;
  bool node_works(int, const std::string&) override { return nodes_work; }
  SysResult<UniqueFd> loose_node(mode_t mode, dev_t device, const kernel::Owner& owner) override {
    made.push_back({.parent = "loose", .name = "", .mode = mode, .device = device, .owner = owner});
    return named_fd("loose-node");
  }
  void drop_loose_node() override {}

  std::vector<kernel::AsideMount> aside;
  std::vector<std::string> networks;  // fd_name() of those, in the same order
  int dropped = 0;
  SysResult<std::string> mount_aside(const kernel::AsideMount& wanted) override {
    if (failure != 0) return sys_failure(failure);
    networks.push_back(fd_name(wanted.network));
    aside.push_back(wanted);
    return std::string("/aside");
  }
  void drop_aside() override { ++dropped; }

  kernel::Schedule current;  // of every thread
  std::vector<std::pair<pid_t, kernel::Schedule>> scheduled;
  std::vector<std::pair<pid_t, int>> niced;
  std::vector<std::pair<pid_t, int>> io_priorities;
  SysResult<kernel::Schedule> schedule(pid_t) override { return current; }
  SysResult<void> set_schedule(pid_t thread, const kernel::Schedule& wanted) override {
    if (failure != 0) return sys_failure(failure);
    scheduled.emplace_back(thread, wanted);
    return {};
  }
  SysResult<void> set_nice(pid_t thread, int nice) override {
    if (failure != 0) return sys_failure(failure);
    niced.emplace_back(thread, nice);
    return {};
  }
  SysResult<void> set_io_priority(pid_t thread, int priority) override {
    if (failure != 0) return sys_failure(failure);
    io_priorities.emplace_back(thread, priority);
    return {};
  }
};

// Performs at once, on a FakeHost, what the emulator asks for.
class FakeHelper final : public emulators::Helper {
 public:
  FakeHost host;
  const emulators::Emulator* emulator = nullptr;
  std::vector<std::uint32_t> instances;  // asked for

  SysResult<emulators::StepResult> perform(std::uint32_t instance,
                                           const emulators::Step& step) override {
    instances.push_back(instance);
    return emulator->perform(step, host);
  }
};

// Starts nothing, and remembers what was to be started.
class FakePrograms final : public kernel::FusePrograms {
 public:
  std::vector<kernel::FuseMount> started;
  std::vector<std::string> sources;  // fd_name() of those, in the same order
  int failure = 0;

  SysResult<UniqueFd> start(const kernel::FuseMount& wanted) override {
    sources.push_back(fd_name(wanted.source));
    started.push_back(wanted);
    if (failure != 0) return sys_failure(failure);
    return named_fd("served");
  }
};

// As FakeHelper, for what the emulator has started.
class FakeLauncher final : public emulators::Helper {
 public:
  FakePrograms programs;
  const emulators::Emulator* emulator = nullptr;

  SysResult<emulators::StepResult> perform(std::uint32_t, const emulators::Step& step) override {
    return emulator->launch(step, programs);
  }
};

}  // namespace sidecall::support
