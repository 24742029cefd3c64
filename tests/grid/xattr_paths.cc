// Which file is meant: links, relative paths, threads, roots, descriptors, mounts.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "grid/caller.h"
#include "grid/xattr.h"

namespace sidecall::grid {
namespace {

std::string own_descriptor(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

constexpr Case kCases[] = {
    {"absolute path", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       check.gives("setxattr", set_attribute(check.path("file")), 0);
       check.holds("it is there", has_attribute("file", "y"));
     }},
    {"link that is followed", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       make_link(check, "file", "link");
       check.gives("setxattr", set_attribute("link"), 0);
       check.holds("the file has it", has_attribute("file", "y"));
       check.holds("the link has not", lacks_attribute("link"));
       check.gives("removexattr", remove_attribute("link"), 0);
     }},
    {"link itself", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       make_link(check, "file", "link");
       check.gives("lsetxattr", set_link_attribute("link"), 0);
       check.holds("the link has it", has_attribute("link", "y"));
       check.holds("the file has not", lacks_attribute("file"));
       check.gives("lremovexattr", remove_link_attribute("link"), 0);
     }},
    {"link that leads nowhere", Off::kFails,
     [](const Checks& check) {
       make_link(check, "nowhere", "link");
       check.fails("setxattr", set_attribute("link"), ENOENT);
       check.gives("lsetxattr", set_link_attribute("link"), 0);
     }},
    {"loop of links", Off::kHolds,
     [](const Checks& check) {
       make_link(check, "loop", "loop");
       check.fails("setxattr", set_attribute("loop"), ELOOP);
       check.fails("lsetxattr through it", set_link_attribute("loop/x"), ELOOP);
     }},
    {"directory of the thread's own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_file(check, "a/file");
       in_thread_with_own_directory(check, [&] {
         check.arrange("chdir", ::chdir("a") == 0);
         check.gives("setxattr", set_attribute("file"), 0);
         check.gives("setxattr through ..", set_attribute("../a"), 0);
       });
       check.holds("the file has it", has_attribute("a/file", "y"));
       check.holds("the directory has it", has_attribute("a", "y"));
     }},
    {"root of the caller's own", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_file(check, "a/file");
       make_link(check, "/file", "a/link");
       in_child(check, [&] {
         check.arrange("chroot", ::chroot("a") == 0);
         check.gives("setxattr", set_attribute("/../link"), 0);
       });
       check.holds("the file has it", has_attribute("a/file", "y"));
     }},
    {"descriptor", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       const int fd = open_descriptor(check, "file", O_RDONLY);
       check.gives("fsetxattr", ::fsetxattr(fd, kOpaque, "y", 1, 0), 0);
       check.holds("it is there", has_attribute("file", "y"));
       check.gives("fremovexattr", ::fremovexattr(fd, kOpaque), 0);
     }},
    {"descriptor of a file that has been removed", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       const int fd = open_descriptor(check, "file", O_RDWR);
       check.arrange("unlink", ::unlink("file") == 0);
       check.gives("fsetxattr", ::fsetxattr(fd, kOpaque, "y", 1, 0), 0);
       check.gives("fgetxattr", ::fgetxattr(fd, kOpaque, nullptr, 0), 1);
     }},
    {"descriptor of a directory", Off::kFails,
     [](const Checks& check) {
       const int fd = open_descriptor(check, ".", O_RDONLY);
       check.gives("fsetxattr", ::fsetxattr(fd, kOpaque, "y", 1, 0), 0);
       check.holds("it is there", has_attribute(".", "y"));
     }},
    {"descriptor for ioctl(2) alone", Off::kFails,
     [](const Checks& check) {
       constexpr int kNeitherReadNorWrite = 3;
       make_file(check, "file");
       const int fd = open_descriptor(check, "file", kNeitherReadNorWrite);
       check.gives("fsetxattr", ::fsetxattr(fd, kOpaque, "y", 1, 0), 0);
     }},
    {"descriptor by its name in proc", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       make_link(check, "file", "link");
       const int file = open_descriptor(check, "file", O_PATH);
       const int link = open_descriptor(check, "link", O_PATH | O_NOFOLLOW);
       check.gives("setxattr", set_attribute(own_descriptor(file)), 0);
       check.holds("the file has it", has_attribute("file", "y"));
       check.gives("setxattr of a link's", set_attribute(own_descriptor(link), "z"), 0);
       check.holds("the link has it", has_attribute("link", "z"));
     }},
    {"read-only mount", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       make_file(check, "a/file");
       own_mounts(check);
       make_read_only(check, check.path("a"));
       check.fails("setxattr", set_attribute(check.path("a/file")), EROFS);
       check.fails("removexattr", remove_attribute(check.path("a/file")), EROFS);
       const int fd = open_descriptor(check, check.path("a/file"), O_RDONLY);
       check.fails("fsetxattr", ::fsetxattr(fd, kOpaque, "y", 1, 0), EROFS);
     }},
};

}  // namespace

std::span<const Case> xattr_paths() {
  return kCases;
}

}  // namespace sidecall::grid
