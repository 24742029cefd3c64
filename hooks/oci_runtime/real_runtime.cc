#include "oci_runtime/real_runtime.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/paths.h"

namespace sidecall::oci_runtime {
namespace {

constexpr std::string_view kOwnName = "sidecall-runtime";

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

bool is_ourselves(const std::string& path) {
  std::error_code error;
  return std::filesystem::equivalent(path, "/proc/self/exe", error) && !error;
}

bool is_program(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0 &&
         !is_ourselves(path);
}

// "" where there is none.
std::string look_for(std::string_view name, std::string_view search) {
  while (!search.empty()) {
    const auto directory = search.substr(0, search.find(':'));
    search.remove_prefix(std::min(directory.size() + 1, search.size()));
    if (directory.empty()) continue;  // to others the working directory, which is not the system's
    auto path = in_directory(directory, name);
    if (is_program(path)) return path;
  }
  return {};
}

std::vector<std::string> wanted_names(std::string_view wish, std::string_view own_name) {
  if (!wish.empty()) return {std::string(wish)};
  const std::string own = base_name(own_name);
  if (own.starts_with(kOwnName) && own.size() > kOwnName.size() + 1 &&
      own[kOwnName.size()] == '-') {
    return {own.substr(kOwnName.size() + 1)};
  }
  return {"crun", "runc"};
}

}  // namespace

Result<std::string> find_runtime(std::string_view wish, std::string_view own_name,
                                 std::string_view search) {
  if (wish.find('/') != std::string_view::npos) {
    std::error_code error;
    auto path = std::filesystem::absolute(wish, error).string();
    if (!error && is_ourselves(path)) {
      return failure(path + " is sidecall-runtime itself; name the OCI runtime that it puts in");
    }
    if (error || !is_program(path)) return failure(path + " is no program that can be run");
    return path;
  }
  std::string names;
  for (const std::string& name : wanted_names(wish, own_name)) {
    if (auto path = look_for(name, search); !path.empty()) return path;
    names += (names.empty() ? "" : " or ") + name;
  }
  return failure("there is no OCI runtime " + names + " in " + std::string(search) +
                 "; install it, or name it with --sidecall-runtime");
}

}  // namespace sidecall::oci_runtime
