#include "oci_hook/config_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace sidecall::oci_hook {

Result<void> replace_config_file(const std::string& path, std::string_view text) {
  struct stat before {};
  if (::stat(path.c_str(), &before) != 0) return errno_failure(path);
  auto replaced = replace_file(path, text, before.st_mode & 07777U);
  if (!replaced) return replaced;
  if (::lchown(path.c_str(), before.st_uid, before.st_gid) != 0) {
    return errno_failure("setting the owner of " + path);
  }
  return {};
}

}  // namespace sidecall::oci_hook
