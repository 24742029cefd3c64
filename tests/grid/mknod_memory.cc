// Where the path's bytes are: memory that can be read, in part or not at all.
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/mman.h>

#include <array>

#include "grid/caller.h"
#include "grid/mknod.h"

namespace sidecall::grid {
namespace {

long make_from(const char* path) {
  return make_node_raw(path, kCharacter, encoded(kNull));
}

const char* at_address(std::uintptr_t address) {
  return reinterpret_cast<const char*>(address);  // NOLINT(performance-no-int-to-ptr)
}

constexpr Case kCases[] = {
    {"path at NULL", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod", make_from(nullptr), EFAULT);
       check.fails("mknod at 1", make_from(at_address(1)), EFAULT);
     }},
    {"path at the end of the address space", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod at the last byte", make_from(at_address(UINTPTR_MAX)), EFAULT);
       check.fails("mknod in the upper half", make_from(at_address(~(UINTPTR_MAX >> 1U))), EFAULT);
     }},
    {"path without an end before an unmapped page", Off::kHolds,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kUnmapped);
       check.fails("mknod", make_from(border.place_before("node")), EFAULT);
       check.fails("mknod at the page", make_from(border.line()), EFAULT);
     }},
    {"path without an end before a page without access", Off::kHolds,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kNoAccess);
       check.fails("mknod", make_from(border.place_before("node")), EFAULT);
       check.fails("mknod at the page", make_from(border.line()), EFAULT);
     }},
    {"path that ends with a page", Off::kFails,
     [](const Checks& check) {
       const Border unmapped(check, Border::Beyond::kUnmapped);
       check.gives("mknod", make_from(unmapped.place_before({"node", sizeof "node"})), 0);
       const Border closed(check, Border::Beyond::kNoAccess);
       check.gives("mknod", make_from(closed.place_before({"other", sizeof "other"})), 0);
       check.holds("both are there", is_node("node") && is_node("other"));
     }},
    {"path across two pages", Off::kFails,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kReadOnly);  // of zeros
       check.gives("mknod", make_from(border.place_before("node")), 0);
       check.holds("it is there", is_node("node"));
     }},
    {"as many bytes as a path may have, without an end", Off::kHolds,
     [](const Checks& check) {
       const Border border(check, Border::Beyond::kUnmapped);
       check.fails("mknod of 4096", make_from(border.place_before(std::string(PATH_MAX, '/'))),
                   ENAMETOOLONG);
       check.fails("mknod of 4095", make_from(border.line() - PATH_MAX + 1), EFAULT);
     }},
    {"path in a mapped file past its end", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       const int file = open_descriptor(check, "file", O_RDONLY);
       void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
       check.arrange("mmap", page != MAP_FAILED);
       check.fails("mknod", make_from(static_cast<const char*>(page)), EFAULT);
     }},
    {"bad path before bad descriptor", Off::kHolds,
     [](const Checks& check) {
       const std::string longer(PATH_MAX, 'n');
       check.fails("mknodat of a longer path", make_node_at(4242, longer), ENAMETOOLONG);
     }},
};

}  // namespace

std::span<const Case> mknod_memory() {
  return kCases;
}

}  // namespace sidecall::grid
