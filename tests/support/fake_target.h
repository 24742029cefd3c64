// A kernel::Target in memory: the test decides what the calling thread has and may.
#pragma once

#include <fcntl.h>
#include <linux/capability.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "kernel/target.h"
#include "support/fd_name.h"

namespace sidecall::support {

// What can be asked of a target, each of which a test may make fail.
enum class Look {
  kRead,
  kReadString,
  kWrite,
  kCredentials,
  kUserNamespace,
  kUts,
  kPersonality,
  kPidNamespace,
  kNamespace,
  kThread,
  kRoot,
  kWorkingDirectory,
  kDescriptor,
};

// By default a caller with all capabilities in the sandbox's user namespace, without memory.
class FakeTarget final : public kernel::Target {
 public:
  FakeTarget() { caller.effective_capabilities = ~std::uint64_t{0}; }

  kernel::Credentials caller;
  bool in_sandbox = true;
  bool in_sandbox_pids = true;
  utsname names{};
  std::uint32_t persona = 0;               // what personality(2) has
  std::optional<std::size_t> level;        // of its /proc
  std::map<pid_t, pid_t> threads;          // our numbers by the caller's
  std::map<int, std::string> descriptors;  // what named_fd() calls them
  std::set<int> path_descriptors;          // those of them that are of O_PATH
  std::set<std::string> directories;       // names that stand for a directory: "/"

  // Maps `bytes` at `address`. Regions do not overlap; those that touch are one.
  void map(std::uint64_t address, std::string_view bytes, bool writable = true) {
    for (const char byte : bytes) {
      memory_[address++] = Cell{.value = static_cast<std::byte>(byte), .writable = writable};
    }
  }
  void map_string(std::uint64_t address, std::string_view text) {
    map(address, std::string(text) + '\0');
  }
  [[nodiscard]] std::string bytes_at(std::uint64_t address, std::size_t length) const {
    std::string bytes;
    for (std::size_t at = 0; at < length; ++at) {
      bytes += static_cast<char>(memory_.at(address + at).value);
    }
    return bytes;
  }

  void fail(Look look, int number) { failures_[look] = number; }
  [[nodiscard]] int looks(Look look) const {
    const auto found = looks_.find(look);
    return found == looks_.end() ? 0 : found->second;
  }
  // Whether any byte was copied more than once: what was decided on may then have changed.
  [[nodiscard]] bool anything_read_twice() const {
    return std::any_of(memory_.begin(), memory_.end(),
                       [](const auto& cell) { return cell.second.reads > 1; });
  }

  SysResult<void> read(std::uint64_t address, std::span<std::byte> into) override {
    if (const int number = look(Look::kRead); number != 0) return sys_failure(number);
    for (std::byte& byte : into) {
      Cell* const cell = find(address++);
      if (cell == nullptr) return sys_failure(EFAULT);
      ++cell->reads;
      byte = cell->value;
    }
    return {};
  }

  SysResult<std::string> read_string(std::uint64_t address, std::size_t limit) override {
    if (const int number = look(Look::kReadString); number != 0) return sys_failure(number);
    std::string text;
    while (text.size() < limit) {
      Cell* const cell = find(address++);
      if (cell == nullptr) return sys_failure(EFAULT);
      ++cell->reads;
      if (cell->value == std::byte{0}) return text;
      text += static_cast<char>(cell->value);
    }
    return sys_failure(ENAMETOOLONG);
  }

  SysResult<std::string> read_page(std::uint64_t address) override {
    if (const int number = look(Look::kReadString); number != 0) return sys_failure(number);
    if (find(address) == nullptr) return sys_failure(EFAULT);
    std::string text;
    for (Cell* cell = find(address); cell != nullptr && text.size() < 4095;
         cell = find(++address)) {
      ++cell->reads;
      if (cell->value == std::byte{0}) break;
      text += static_cast<char>(cell->value);
    }
    return text;
  }

  SysResult<void> write(std::uint64_t address, std::span<const std::byte> data) override {
    if (const int number = look(Look::kWrite); number != 0) return sys_failure(number);
    for (std::size_t at = 0; at < data.size(); ++at) {
      const Cell* const cell = find(address + at);
      if (cell == nullptr || !cell->writable) return sys_failure(EFAULT);
    }
    for (const std::byte byte : data) find(address++)->value = byte;
    return {};
  }

  SysResult<kernel::Credentials> credentials() override {
    return answer(Look::kCredentials, caller);
  }
  SysResult<bool> in_sandbox_user_namespace() override {
    return answer(Look::kUserNamespace, in_sandbox);
  }
  SysResult<bool> in_sandbox_pid_namespace() override {
    return answer(Look::kPidNamespace, in_sandbox_pids);
  }
  SysResult<UniqueFd> open_namespace(const char* name) override {
    return answer(Look::kNamespace, named_fd(name));
  }
  SysResult<utsname> uts() override { return answer(Look::kUts, names); }
  SysResult<std::uint32_t> personality() override { return answer(Look::kPersonality, persona); }
  SysResult<pid_t> thread_of(pid_t number) override {
    if (const auto found = threads.find(number); found != threads.end()) {
      return answer(Look::kThread, found->second);
    }
    return sys_failure(ESRCH);
  }
  SysResult<std::size_t> proc_level(const kernel::Credentials&) override {
    if (level) return *level;
    return sys_failure(ENOENT);
  }
  SysResult<UniqueFd> root() override { return answer(Look::kRoot, named_fd("root")); }
  SysResult<UniqueFd> working_directory() override {
    return answer(Look::kWorkingDirectory, file("cwd"));
  }
  SysResult<std::string> working_directory_name() override {
    return answer(Look::kWorkingDirectory, std::string("/work"));
  }
  SysResult<UniqueFd> descriptor(int number) override {
    if (!descriptors.contains(number)) return sys_failure(EBADF);
    return answer(Look::kDescriptor, file(descriptors.at(number)));
  }
  SysResult<UniqueFd> open_descriptor(int number) override {
    if (path_descriptors.contains(number)) return sys_failure(EBADF);
    return descriptor(number);
  }

 private:
  struct Cell {
    std::byte value{};
    bool writable = false;
    int reads = 0;
  };

  [[nodiscard]] UniqueFd file(const std::string& name) const {
    return directories.contains(name) ? UniqueFd(::open("/", O_PATH | O_CLOEXEC)) : named_fd(name);
  }
  Cell* find(std::uint64_t address) {
    const auto found = memory_.find(address);
    return found == memory_.end() ? nullptr : &found->second;
  }
  // Counts the look and gives the errno that it is to fail with, or 0.
  int look(Look look) {
    ++looks_[look];
    const auto found = failures_.find(look);
    return found == failures_.end() ? 0 : found->second;
  }
  template <typename T>
  SysResult<T> answer(Look what, T value) {
    if (const int number = look(what); number != 0) return sys_failure(number);
    return value;
  }

  std::map<std::uint64_t, Cell> memory_;
  std::map<Look, int> failures_;
  std::map<Look, int> looks_;
};

}  // namespace sidecall::support
