// Arguments that cannot be: the kernel's errno, in the kernel's order (fs/xattr.c since
// Linux 6.13).
#include <fcntl.h>
#include <sys/xattr.h>

#include <cstring>

#include "grid/caller.h"
#include "grid/xattr.h"

namespace sidecall::grid {
namespace {

constexpr std::size_t kTooLarge = 65537;  // XATTR_SIZE_MAX and one

constexpr Case kCases[] = {
    {"flags before all else", Off::kHolds,
     [](const Checks& check) {
       const char* nowhere = no_memory(check);
       check.fails("setxattr", ::setxattr(nowhere, nowhere, nowhere, kTooLarge, 4), EINVAL);
       check.fails("fsetxattr", ::fsetxattr(-1, nowhere, nowhere, kTooLarge, -1), EINVAL);
     }},
    {"then the name", Off::kHolds,
     [](const Checks& check) {
       const char* nowhere = no_memory(check);
       check.fails("setxattr", ::setxattr(nowhere, nowhere, nowhere, kTooLarge, 0), EFAULT);
       check.fails("setxattr of \"\"", ::setxattr(nowhere, "", nowhere, kTooLarge, 0), ERANGE);
       check.fails("removexattr", ::removexattr(nowhere, nowhere), EFAULT);
       check.fails("removexattr of \"\"", ::removexattr(nowhere, ""), ERANGE);
       const std::string long_name = "trusted.overlay." + std::string(240, 'n');
       check.fails("setxattr of 256 bytes",
                   ::setxattr(nowhere, long_name.c_str(), nowhere, kTooLarge, 0), ERANGE);
       check.fails("removexattr of 256 bytes", ::removexattr(nowhere, long_name.c_str()), ERANGE);
     }},
    {"then the size", Off::kHolds,
     [](const Checks& check) {
       const char* nowhere = no_memory(check);
       check.fails("setxattr", ::setxattr(nowhere, kOpaque, nowhere, kTooLarge, 0), E2BIG);
       check.fails("fsetxattr", ::fsetxattr(-1, kOpaque, nowhere, kTooLarge, 0), E2BIG);
     }},
    {"then the value", Off::kHolds,
     [](const Checks& check) {
       const char* nowhere = no_memory(check);
       check.fails("setxattr", ::setxattr(nowhere, kOpaque, nowhere, 1, 0), EFAULT);
       check.fails("fsetxattr", ::fsetxattr(-1, kOpaque, nowhere, 1, 0), EFAULT);
     }},
    {"then the path", Off::kHolds,
     [](const Checks& check) {
       const char* nowhere = no_memory(check);
       make_file(check, "file");
       check.fails("setxattr", ::setxattr(nowhere, kOpaque, nowhere, 0, 0), EFAULT);
       check.fails("setxattr of \"\"", set_attribute(""), ENOENT);
       check.fails("setxattr of nothing", set_attribute("none"), ENOENT);
       check.fails("setxattr below a file", set_attribute("file/x"), ENOTDIR);
       check.fails("setxattr of file/", set_attribute("file/"), ENOTDIR);
       check.fails("setxattr of 256 bytes", set_attribute(std::string(256, 'n')), ENAMETOOLONG);
       check.fails("setxattr of 4096 bytes", set_attribute(std::string(4096, '/')), ENAMETOOLONG);
       check.fails("removexattr of \"\"", remove_attribute(""), ENOENT);
     }},
    {"or the descriptor", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       const int by_path = open_descriptor(check, "file", O_PATH);
       for (const int fd : {-1, 4242, by_path}) {
         check.fails("fsetxattr", ::fsetxattr(fd, kOpaque, "y", 1, 0), EBADF);
         check.fails("fremovexattr", ::fremovexattr(fd, kOpaque), EBADF);
       }
     }},
    {"name at the end of memory", Off::kFails,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kUnmapped);
       const std::string with_nul(kOpaque, std::strlen(kOpaque) + 1);
       make_file(check, "file");
       check.gives("setxattr", ::setxattr("file", border.place_before(with_nul), "y", 1, 0), 0);
       check.holds("it is there", has_attribute("file", "y"));
       check.fails("setxattr of no end",
                   ::setxattr("file", border.place_before(kOpaque), "y", 1, 0), EFAULT);
     }},
    {"value at the end of memory", Off::kFails,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kNoAccess);
       const char* value = border.place_before("value");
       make_file(check, "file");
       check.gives("setxattr", ::setxattr("file", kOpaque, value, 5, 0), 0);
       check.holds("it is there", has_attribute("file", "value"));
       check.fails("setxattr of one more", ::setxattr("file", kOpaque, value, 6, 0), EFAULT);
     }},
    {"value that can only be read", Off::kFails,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kReadOnly);
       make_file(check, "file");
       check.gives("setxattr", ::setxattr("file", kOpaque, border.line(), 2, 0), 0);
     }},
};

}  // namespace

std::span<const Case> xattr_arguments() {
  return kCases;
}

}  // namespace sidecall::grid
