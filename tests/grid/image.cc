#include "grid/image.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace sidecall::grid {
namespace {

// Others may take the device that was free a moment ago.
constexpr int kTries = 20;

UniqueFd make_filesystem(const std::string& path) {
  // debugfs puts the node into the filesystem without a mount.
  const std::string make = "truncate -s 4M " + path + " && mkfs.ext4 -q -F " + path +
                           " && echo mknod zero c 1 5 | debugfs -w -f - " + path +
                           " >/dev/null 2>&1";
  if (std::system(make.c_str()) != 0) return {};  // NOLINT(cert-env33-c): a test's own words
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

// The device goes with the last descriptor or mount of it.
UniqueFd attach(int file) {
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  for (int tries = 0; control && tries < kTries; ++tries) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) break;
    UniqueFd loop(::open(("/dev/loop" + std::to_string(number)).c_str(), O_RDWR | O_CLOEXEC));
    loop_config config{};
    config.fd = static_cast<__u32>(file);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (loop && ::ioctl(loop.get(), LOOP_CONFIGURE, &config) == 0) return loop;
    if (errno != EBUSY) break;
  }
  return {};
}

}  // namespace

Image::Image(const std::string& directory) {
  const std::string path = directory + "/filesystem";
  const UniqueFd file = make_filesystem(path);
  ::unlink(path.c_str());
  if (!file) return;
  loop_ = attach(file.get());
  struct stat about {};
  if (!loop_ || ::fstat(loop_.get(), &about) != 0) return;
  static_cast<void>(::mknod((directory + "/image").c_str(), S_IFBLK | 0600, about.st_rdev));
}

}  // namespace sidecall::grid
