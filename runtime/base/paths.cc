#include "base/paths.h"

#include <unistd.h>

#include <filesystem>

namespace sidecall {

std::string program_path(std::string_view name) {
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = own.parent_path() / name;
  if (::access(beside.c_str(), X_OK) == 0) return beside;
  const auto in_libexec = own.parent_path().parent_path() / "libexec" / "sidecall" / name;
  if (::access(in_libexec.c_str(), X_OK) == 0) return in_libexec;
  return beside;
}

}  // namespace sidecall
