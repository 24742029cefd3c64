// What is set and removed, and what the flags ask for.
#include <sys/xattr.h>

#include "grid/caller.h"
#include "grid/xattr.h"

namespace sidecall::grid {
namespace {

constexpr const char* kSecurity = "security.sidecall-grid";

constexpr Case kCases[] = {
    {"set and removed", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       check.gives("setxattr", set_attribute("file"), 0);
       check.holds("it is there", has_attribute("file", "y"));
       check.gives("removexattr", remove_attribute("file"), 0);
       check.holds("it is gone", lacks_attribute("file"));
       check.fails("removexattr again", remove_attribute("file"), ENODATA);
     }},
    {"of a directory", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       check.gives("setxattr", set_attribute("a"), 0);
       check.holds("it is there", has_attribute("a", "y"));
     }},
    {"set again", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       check.gives("setxattr", set_attribute("file", "short"), 0);
       check.gives("setxattr", set_attribute("file", "a longer value"), 0);
       check.holds("the second stands", has_attribute("file", "a longer value"));
     }},
    {"XATTR_CREATE", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       check.gives("setxattr", set_attribute("file", "y", XATTR_CREATE), 0);
       check.fails("setxattr again", set_attribute("file", "n", XATTR_CREATE), EEXIST);
       check.holds("the first stands", has_attribute("file", "y"));
     }},
    {"XATTR_REPLACE", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       check.fails("setxattr", set_attribute("file", "y", XATTR_REPLACE), ENODATA);
       check.gives("setxattr without it", set_attribute("file", "y"), 0);
       check.gives("setxattr", set_attribute("file", "n", XATTR_REPLACE), 0);
       check.holds("the second stands", has_attribute("file", "n"));
     }},
    {"both flags", Off::kFails,
     [](const Checks& check) {
       constexpr int kBoth = XATTR_CREATE | XATTR_REPLACE;
       make_file(check, "file");
       check.fails("setxattr of none", set_attribute("file", "y", kBoth), ENODATA);
       check.gives("setxattr", set_attribute("file", "y"), 0);
       check.fails("setxattr of one", set_attribute("file", "y", kBoth), EEXIST);
     }},
    {"no value", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       check.gives("setxattr of NULL", ::setxattr("file", kOpaque, nullptr, 0, 0), 0);
       check.holds("it is empty", has_attribute("file", ""));
       check.gives("setxattr of none", ::setxattr("file", kOpaque, no_memory(check), 0, 0), 0);
     }},
    {"value with a NUL", Off::kFails,
     [](const Checks& check) {
       using namespace std::string_view_literals;
       make_file(check, "file");
       check.gives("setxattr", set_attribute("file", "a\0b"sv), 0);
       check.holds("it is whole", has_attribute("file", "a\0b"sv));
     }},
    {"name of 255 bytes", Off::kFails,
     [](const Checks& check) {
       const std::string name = "trusted.overlay." + std::string(239, 'n');
       make_file(check, "file");
       check.gives("setxattr", set_attribute("file", "y", 0, name), 0);
       check.holds("it is there", has_attribute("file", "y", name));
     }},
    {"security attribute", Off::kFails,
     [](const Checks& check) {
       make_file(check, "file");
       check.gives("setxattr", set_attribute("file", "y", 0, kSecurity), 0);
       check.holds("it is there", has_attribute("file", "y", kSecurity));
       check.gives("removexattr", remove_attribute("file", kSecurity), 0);
     }},
    {"user attribute", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       check.gives("setxattr", set_attribute("file", "y", 0, "user.a"), 0);
       check.holds("it is there", has_attribute("file", "y", "user.a"));
       check.gives("removexattr", remove_attribute("file", "user.a"), 0);
     }},
    {"names that are not listed", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       for (const char* name : {"trusted.other", "trusted.overlay", "security.other"}) {
         check.fails(name, set_attribute("file", "y", 0, name), EPERM);
         check.fails(name, remove_attribute("file", name), EPERM);
       }
     },
     Where::kContainerOnly},
    {"class that there is not", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       check.fails("setxattr", set_attribute("file", "y", 0, "nosuch.name"), EOPNOTSUPP);
       check.fails("setxattr of no class", set_attribute("file", "y", 0, "name"), EOPNOTSUPP);
     }},
};

}  // namespace

std::span<const Case> xattr_values() {
  return kCases;
}

}  // namespace sidecall::grid
