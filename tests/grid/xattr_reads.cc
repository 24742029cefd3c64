// Reading back what was set.
#include <fcntl.h>
#include <sys/xattr.h>

#include <array>
#include <cstring>

#include "grid/caller.h"
#include "grid/xattr.h"

namespace sidecall::grid {
namespace {

constexpr ssize_t kNameSize = sizeof("trusted.overlay.opaque");

void make_marked_file(const Checks& check) {
  make_file(check, "file");
  check.gives("setxattr", set_attribute("file", "value"), 0);
}

constexpr Case kCases[] = {
    {"size of a value", Off::kFails,
     [](const Checks& check) {
       make_marked_file(check);
       check.gives("getxattr", ::getxattr("file", kOpaque, nullptr, 0), 5);
       check.gives("getxattr with a buffer", ::getxattr("file", kOpaque, no_memory(check), 0), 5);
     }},
    {"value in a buffer", Off::kFails,
     [](const Checks& check) {
       std::array<char, 8> value{};
       make_marked_file(check);
       check.fails("getxattr into 4", ::getxattr("file", kOpaque, value.data(), 4), ERANGE);
       check.gives("getxattr into 5", ::getxattr("file", kOpaque, value.data(), 5), 5);
       check.holds("it is the value", std::string_view(value.data()) == "value");
       check.fails("getxattr nowhere", ::getxattr("file", kOpaque, no_memory(check), 5), EFAULT);
     }},
    {"buffer at the end of memory", Off::kFails,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kReadOnly);
       make_marked_file(check);
       check.gives("getxattr", ::getxattr("file", kOpaque, border.line() - 5, 100), 5);
       check.fails("getxattr across", ::getxattr("file", kOpaque, border.line() - 4, 100), EFAULT);
     }},
    {"no such attribute", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       check.fails("getxattr", ::getxattr("file", kOpaque, nullptr, 0), ENODATA);
       check.fails("getxattr of \"\"", ::getxattr("file", "", nullptr, 0), ERANGE);
       check.fails("getxattr of nothing", ::getxattr("none", kOpaque, nullptr, 0), ENOENT);
       check.fails("fgetxattr", ::fgetxattr(-1, kOpaque, nullptr, 0), EBADF);
     }},
    {"of a link and of its file", Off::kFails,
     [](const Checks& check) {
       make_marked_file(check);
       make_link(check, "file", "link");
       check.gives("getxattr", ::getxattr("link", kOpaque, nullptr, 0), 5);
       check.fails("lgetxattr", ::lgetxattr("link", kOpaque, nullptr, 0), ENODATA);
       check.gives("listxattr", ::listxattr("link", nullptr, 0), kNameSize);
       check.gives("llistxattr", ::llistxattr("link", nullptr, 0), 0);
       const int fd = open_descriptor(check, "file", O_RDONLY);
       check.gives("fgetxattr", ::fgetxattr(fd, kOpaque, nullptr, 0), 5);
       check.gives("flistxattr", ::flistxattr(fd, nullptr, 0), kNameSize);
     }},
    {"list in a buffer", Off::kFails,
     [](const Checks& check) {
       std::array<char, 64> names{};
       make_marked_file(check);
       check.fails("listxattr into 22", ::listxattr("file", names.data(), 22), ERANGE);
       check.gives("listxattr", ::listxattr("file", names.data(), names.size()), kNameSize);
       check.holds("it is the name", std::string_view(names.data()) == kOpaque);
       check.fails("listxattr nowhere", ::listxattr("file", no_memory(check), 100), EFAULT);
     }},
    {"list of nothing", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       check.gives("listxattr", ::listxattr("file", no_memory(check), 100), 0);
       check.fails("listxattr", ::listxattr("none", no_memory(check), 100), ENOENT);
       check.fails("flistxattr", ::flistxattr(4242, no_memory(check), 100), EBADF);
     }},
};

}  // namespace

std::span<const Case> xattr_reads() {
  return kCases;
}

}  // namespace sidecall::grid
