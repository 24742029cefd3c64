#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace sidecall {

Result<UniqueFd> open_file(const std::string& path, int flags, unsigned mode) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd) return errno_failure("opening " + path);
  return fd;
}

Result<std::string> read_fd(int fd, std::size_t limit) {
  std::string text;
  std::array<char, 16384> chunk;
  for (;;) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno_failure("reading");
    }
    if (text.size() + static_cast<std::size_t>(count) > limit) {
      return failure("more than " + std::to_string(limit) + " bytes");
    }
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  auto fd = open_file(path, O_RDONLY);
  if (!fd) return pass_on(std::move(fd));
  auto text = read_fd(fd->get(), limit);
  if (!text) return pass_on(std::move(text), path);
  return text;
}

Result<void> write_fd(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno_failure("writing");
    }
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view data, unsigned mode) {
  std::string draft = path + ".XXXXXX";
  UniqueFd fd(::mkostemp(draft.data(), O_CLOEXEC));
  if (!fd) return errno_failure("creating " + draft);
  auto fail = [&](std::string_view doing) {
    const int number = errno;
    ::unlink(draft.c_str());
    return errno_failure(std::string(doing) + " " + path, number);
  };
  if (!write_fd(fd.get(), data)) return fail("writing");
  if (::fchmod(fd.get(), mode) != 0) return fail("setting the mode of");
  if (::rename(draft.c_str(), path.c_str()) != 0) return fail("replacing");
  return {};
}

}  // namespace sidecall
