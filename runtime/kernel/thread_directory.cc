#include "kernel/thread_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <optional>

#include "base/file.h"

namespace sidecall::kernel {
namespace {

// A dead task's directory answers ENOENT to some look-ups and ESRCH to others; one whose task we
// have no right over, EACCES or EPERM.
int as_seen(int number) {
  if (number == EACCES || number == EPERM) return kOutOfReach;
  return number == ENOENT ? ESRCH : number;
}

// The rest of the line that starts with `key`, which has its colon.
std::optional<std::string_view> line_of(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (line.starts_with(key)) return line.substr(key.size());
    at = end + 1;
  }
  return std::nullopt;
}

// Takes the next number of a line, whatever white space stands before it.
template <typename T>
std::optional<T> next_number(std::string_view& line, int base = 10) {
  const auto start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  line.remove_prefix(start);
  T number{};
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), number, base);
  if (parsed.ec != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(parsed.ptr - line.data()));
  return number;
}

// "Uid:" and "Gid:" list the real, effective, saved and filesystem id.
std::optional<unsigned> filesystem_id(std::string_view text, std::string_view key) {
  auto line = line_of(text, key);
  if (!line) return std::nullopt;
  std::optional<unsigned> id;
  for (int column = 0; column < 4; ++column) {
    id = next_number<unsigned>(*line);
    if (!id) return std::nullopt;
  }
  return id;
}

// "NSpid:" and the like list a number for each pid namespace, the innermost last.
std::vector<pid_t> numbers_of(std::string_view text, std::string_view key) {
  auto line = line_of(text, key);
  std::vector<pid_t> numbers;
  while (line) {
    const auto number = next_number<pid_t>(*line);
    if (!number) break;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

SysResult<Credentials> parse_status(std::string_view text) {
  const auto fsuid = filesystem_id(text, "Uid:");
  const auto fsgid = filesystem_id(text, "Gid:");
  auto groups = line_of(text, "Groups:");
  auto effective = line_of(text, "CapEff:");
  auto mask = line_of(text, "Umask:");
  if (!fsuid || !fsgid || !groups || !effective || !mask) return sys_failure(EINVAL);
  const auto capabilities = next_number<std::uint64_t>(*effective, 16);
  const auto umask = next_number<unsigned>(*mask, 8);
  if (!capabilities || !umask) return sys_failure(EINVAL);
  Credentials credentials{.fsuid = *fsuid,
                          .fsgid = *fsgid,
                          .groups = {},
                          .effective_capabilities = *capabilities,
                          .umask = *umask,
                          .tgids = numbers_of(text, "NStgid:"),
                          .tids = numbers_of(text, "NSpid:")};
  while (const auto group = next_number<gid_t>(*groups)) credentials.groups.push_back(*group);
  if (groups->find_first_not_of(" \t") != std::string_view::npos) return sys_failure(EINVAL);
  return credentials;
}

SysResult<ThreadDirectory> ThreadDirectory::open(int proc, pid_t tid) {
  if (tid <= 0) return sys_failure(ESRCH);
  UniqueFd fd(::openat(proc, std::to_string(tid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return sys_failure(as_seen(errno));
  return ThreadDirectory(std::move(fd));
}

SysResult<UniqueFd> ThreadDirectory::open_file(const char* name, int flags) const {
  UniqueFd fd(::openat(fd_.get(), name, flags | O_CLOEXEC));
  if (!fd) return sys_failure(as_seen(errno));
  return fd;
}

SysResult<std::string> ThreadDirectory::link(const char* name) const {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlinkat(fd_.get(), name, text.data(), text.size());
  if (length < 0) return sys_failure(as_seen(errno));
  return std::string(text.data(), static_cast<std::size_t>(length));
}

SysResult<NamespaceId> ThreadDirectory::namespace_id(const char* name) const {
  // "user:[4026531837]". Read and not followed, which would make an inode of it first.
  std::array<char, 64> text{};
  const ssize_t length = ::readlinkat(fd_.get(), name, text.data(), text.size());
  if (length < 0) return sys_failure(as_seen(errno));
  std::string_view link(text.data(), static_cast<std::size_t>(length));
  link.remove_prefix(std::min(link.find('[') + 1, link.size()));
  const auto inode = next_number<std::uint64_t>(link);
  if (!inode) return sys_failure(EIO);
  return NamespaceId{.inode = *inode};
}

SysResult<std::size_t> ThreadDirectory::read_kept(UniqueFd& kept, const char* name,
                                                  std::span<char> into) const {
  if (!kept) {
    auto file = open_file(name, O_RDONLY);
    if (!file) return tl::unexpected<Errno>(file.error());
    kept = std::move(*file);
  }
  const ssize_t length = ::pread(kept.get(), into.data(), into.size(), 0);
  if (length < 0) return sys_failure(as_seen(errno));
  return static_cast<std::size_t>(length);
}

SysResult<Credentials> ThreadDirectory::credentials() const {
  std::array<char, 4096> usual;
  const auto length = read_kept(status_, "status", usual);
  if (!length) return tl::unexpected<Errno>(length.error());
  if (*length < usual.size()) return parse_status({usual.data(), *length});
  // 65,536 supplementary groups are the kernel's limit (NGROUPS_MAX), 11 characters each.
  std::string text(1U << 20U, '\0');
  const auto all = read_kept(status_, "status", text);
  if (!all) return tl::unexpected<Errno>(all.error());
  if (*all == text.size()) return sys_failure(EIO);
  return parse_status({text.data(), *all});
}

SysResult<unsigned> ThreadDirectory::last_cpu() const {
  auto file = open_file("stat", O_RDONLY);
  if (!file) return tl::unexpected<Errno>(file.error());
  std::array<char, 1024> text{};
  const ssize_t length = ::read(file->get(), text.data(), text.size());
  if (length < 0) return sys_failure(as_seen(errno));
  // Field 39, proc_pid_stat(5). The second, the program's name in brackets, may hold anything.
  std::string_view line(text.data(), static_cast<std::size_t>(length));
  line.remove_prefix(std::min(line.rfind(')') + 1, line.size()));
  for (int field = 2; field < 39; ++field) {
    line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
  }
  const auto cpu = next_number<unsigned>(line);
  if (!cpu) return sys_failure(EIO);
  return *cpu;
}

SysResult<std::uint32_t> ThreadDirectory::personality() const {
  std::array<char, 9> text{};  // eight hexadecimal digits and a newline
  const auto length = read_kept(personality_, "personality", text);
  if (!length) return tl::unexpected<Errno>(length.error());
  std::string_view digits(text.data(), *length);
  const auto number = next_number<std::uint32_t>(digits, 16);
  if (!number) return sys_failure(EIO);
  return *number;
}

SysResult<int> ThreadDirectory::descriptor_flags(int number) const {
  auto file = open_file(("fdinfo/" + std::to_string(number)).c_str(), O_RDONLY);
  if (!file) return tl::unexpected<Errno>(file.error());
  // The flags are in the second line, before what a kind of file adds without a bound.
  std::array<char, 256> text{};
  const ssize_t length = ::read(file->get(), text.data(), text.size());
  if (length < 0) return sys_failure(as_seen(errno));
  auto line = line_of({text.data(), static_cast<std::size_t>(length)}, "flags:");
  const auto flags = line ? next_number<int>(*line, 8) : std::nullopt;
  if (!flags) return sys_failure(EIO);
  return *flags;
}

}  // namespace sidecall::kernel
