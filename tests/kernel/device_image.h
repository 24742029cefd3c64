// An ext4 filesystem for tests that mount one.
#pragma once

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <string>

#include "base/unique_fd.h"

namespace sidecall::testing {

// An ext4 image of a few files behind a loop device, for as long as this lives.
class DeviceImage {
 public:
  explicit DeviceImage(const std::string& directory) : file_(directory + "/image") {
    const std::string make = "truncate -s 8M " + file_ + " && mkfs.ext4 -q -F " + file_;
    if (std::system(make.c_str()) != 0) return;  // NOLINT(cert-env33-c): a test's own words
    const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    const int number = control ? ::ioctl(control.get(), LOOP_CTL_GET_FREE) : -1;
    if (number < 0) return;
    path_ = "/dev/loop" + std::to_string(number);
    loop_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    const UniqueFd image(::open(file_.c_str(), O_RDWR | O_CLOEXEC));
    if (!loop_ || ::ioctl(loop_.get(), LOOP_SET_FD, image.get()) != 0) path_.clear();
    const std::string place = directory + "/fill";
    if (path_.empty() || ::mkdir(place.c_str(), 0755) != 0 ||
        ::mount(path_.c_str(), place.c_str(), "ext4", 0, nullptr) != 0) {
      path_.clear();
      return;
    }
    ::chmod(place.c_str(), 0755);
    static_cast<void>(::mknod((place + "/zero").c_str(), S_IFCHR | 0666, ::makedev(1, 5)));
    ::umount2(place.c_str(), 0);
  }
  ~DeviceImage() {
    if (loop_) ::ioctl(loop_.get(), LOOP_CLR_FD, 0);
  }
  DeviceImage(const DeviceImage&) = delete;
  DeviceImage& operator=(const DeviceImage&) = delete;

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& device() const { return path_; }  // empty: none to be had
  [[nodiscard]] std::string number() const {
    struct stat about {};
    ::stat(path_.c_str(), &about);
    return "b " + std::to_string(major(about.st_rdev)) + ":" + std::to_string(minor(about.st_rdev));
  }

 private:
  std::string file_;
  std::string path_;
  UniqueFd loop_;
};

}  // namespace sidecall::testing
