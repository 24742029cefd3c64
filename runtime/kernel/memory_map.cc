#include "kernel/memory_map.h"

#include <sys/ioctl.h>

#include <charconv>

#include "base/file.h"

namespace sidecall::kernel {
namespace {

// struct procmap_query of include/uapi/linux/fs.h (kernel 6.11), which our oldest headers lack.
struct ProcmapQuery {
  std::uint64_t size;
  std::uint64_t query_flags;
  std::uint64_t query_addr;
  std::uint64_t vma_start;
  std::uint64_t vma_end;
  std::uint64_t vma_flags;
  std::uint64_t vma_page_size;
  std::uint64_t vma_offset;
  std::uint64_t inode;
  std::uint32_t dev_major;
  std::uint32_t dev_minor;
  std::uint32_t vma_name_size;
  std::uint32_t build_id_size;
  std::uint64_t vma_name_addr;
  std::uint64_t build_id_addr;
};
constexpr unsigned long kProcmapQuery = _IOWR('f', 17, ProcmapQuery);
constexpr std::uint64_t kVmaWritable = 0x02;

// The end of the range, or nothing where it wraps round.
std::uint64_t end_of(std::uint64_t address, std::size_t length) {
  return address + length < address ? 0 : address + length;
}

bool take_hex(std::string_view& text, std::uint64_t& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (parsed.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return true;
}

}  // namespace

SysResult<void> check_writable_in(std::string_view maps_text, std::uint64_t address,
                                  std::size_t length) {
  const std::uint64_t end = end_of(address, length);
  if (end == 0) return sys_failure(EFAULT);
  while (!maps_text.empty() && address < end) {
    auto line = maps_text.substr(0, maps_text.find('\n'));
    maps_text.remove_prefix(std::min(line.size() + 1, maps_text.size()));
    std::uint64_t start = 0;
    std::uint64_t stop = 0;
    if (!take_hex(line, start) || !line.starts_with('-')) return sys_failure(EFAULT);
    line.remove_prefix(1);
    if (!take_hex(line, stop) || line.size() < 3) return sys_failure(EFAULT);
    if (stop <= address) continue;
    if (start > address || line[2] != 'w') return sys_failure(EFAULT);
    address = stop;
  }
  if (address < end) return sys_failure(EFAULT);
  return {};
}

SysResult<void> check_writable(int maps, std::uint64_t address, std::size_t length) {
  const std::uint64_t end = end_of(address, length);
  if (end == 0) return sys_failure(EFAULT);
  for (std::uint64_t at = address; at < end;) {
    ProcmapQuery query{};
    query.size = sizeof query;
    query.query_addr = at;
    if (::ioctl(maps, kProcmapQuery, &query) != 0) {
      if (errno != ENOTTY) return sys_failure(errno == ENOENT ? EFAULT : errno);
      const auto text = read_fd(maps, 64U << 20U);
      if (!text) return sys_failure(EFAULT);
      return check_writable_in(*text, address, length);
    }
    if ((query.vma_flags & kVmaWritable) == 0) return sys_failure(EFAULT);
    at = query.vma_end;
  }
  return {};
}

}  // namespace sidecall::kernel
