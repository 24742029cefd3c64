#include <sys/mman.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>

#include "grid/xattr.h"

namespace sidecall::grid {

Grid grid() {
  return {.name = "xattr",
          .policy = R"({"rules": [{"emulate": "xattr",
                       "options": {"names": ["trusted.overlay.*", "security.sidecall-grid"],
                                   "reads": true}}]})",
          .themes = {{"values", xattr_values()},
                     {"arguments", xattr_arguments()},
                     {"paths", xattr_paths()},
                     {"reads", xattr_reads()},
                     {"credentials", xattr_credentials()}}};
}

long set_attribute(const std::string& path, std::string_view value, int flags,
                   const std::string& name) {
  return ::setxattr(path.c_str(), name.c_str(), value.data(), value.size(), flags);
}

long set_link_attribute(const std::string& path, std::string_view value, int flags,
                        const std::string& name) {
  return ::lsetxattr(path.c_str(), name.c_str(), value.data(), value.size(), flags);
}

long remove_attribute(const std::string& path, const std::string& name) {
  return ::removexattr(path.c_str(), name.c_str());
}

long remove_link_attribute(const std::string& path, const std::string& name) {
  return ::lremovexattr(path.c_str(), name.c_str());
}

bool has_attribute(const std::string& path, std::string_view value, const std::string& name) {
  std::array<char, 4096> found{};
  const ssize_t size = ::lgetxattr(path.c_str(), name.c_str(), found.data(), found.size());
  return size >= 0 && std::string_view(found.data(), static_cast<std::size_t>(size)) == value;
}

bool lacks_attribute(const std::string& path, const std::string& name) {
  return ::lgetxattr(path.c_str(), name.c_str(), nullptr, 0) == -1 && errno == ENODATA;
}

char* no_memory(const Checks& check) {
  void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check.arrange("a page that nobody may touch", page != MAP_FAILED);
  return static_cast<char*>(page);
}

}  // namespace sidecall::grid
