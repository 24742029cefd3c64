// Reading and writing whole small files and descriptors, bounded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall {

// Opens with O_CLOEXEC. The error names the path.
[[nodiscard]] Result<UniqueFd> open_file(const std::string& path, int flags, unsigned mode = 0);

// Reads until end of file. More than `limit` bytes is an error, never a silent cut.
[[nodiscard]] Result<std::string> read_fd(int fd, std::size_t limit);
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t limit = 16U << 20);

// Writes all of `data`, across short writes and EINTR.
[[nodiscard]] Result<void> write_fd(int fd, std::string_view data);

// Replaces `path` in one step: a reader sees the old content or the new, never a half.
[[nodiscard]] Result<void> replace_file(const std::string& path, std::string_view data,
                                        unsigned mode);

}  // namespace sidecall
