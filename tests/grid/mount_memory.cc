// Where the bytes of type, source, options and path are, and which of them is looked at first.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "grid/caller.h"
#include "grid/mount.h"

namespace sidecall::grid {
namespace {

constexpr std::size_t kPage = 4096;

const char* at_address(std::uintptr_t address) {
  return reinterpret_cast<const char*>(address);  // NOLINT(performance-no-int-to-ptr)
}

constexpr std::array<std::uintptr_t, 3> kNowhere = {1, UINTPTR_MAX, ~(UINTPTR_MAX >> 1U)};

constexpr Case kCases[] = {
    {"strings where nothing is", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       for (const std::uintptr_t address : kNowhere) {
         const char* const bad = at_address(address);
         check.fails("type", mount_raw("none", "place", bad, 0, nullptr), EFAULT);
         for (const char* type : {"tmpfs", "proc", "ext4", "ramfs"}) {
           const std::string of = std::string(" of ") + type;
           check.fails("source" + of, mount_raw(bad, "place", type, 0, nullptr), EFAULT);
           check.fails("data" + of, mount_raw("none", "place", type, 0, bad), EFAULT);
           check.fails("target" + of, mount_raw("none", bad, type, 0, nullptr), EFAULT);
         }
       }
       check.fails("target at NULL", mount_raw("none", nullptr, "tmpfs", 0, nullptr), EFAULT);
     }},
    {"strings that end with a page", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       const Border border(check, Border::Beyond::kUnmapped);
       constexpr std::string_view kType("tmpfs\0", 6);
       constexpr std::string_view kPlace("place\0", 6);
       constexpr std::string_view kData("mode=700\0", 9);
       check.gives("type", mount_raw("none", "place", border.place_before(kType), 0, nullptr), 0);
       check.gives("source", mount_raw(border.place_before(kType), "place", "tmpfs", 0, nullptr),
                   0);
       check.gives("data", mount_raw("none", "place", "tmpfs", 0, border.place_before(kData)), 0);
       check.gives("target", mount_raw("none", border.place_before(kPlace), "tmpfs", 0, nullptr),
                   0);
     }},
    {"strings without an end before a page that is not there", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       const Border border(check, Border::Beyond::kNoAccess);
       check.fails("type", mount_raw("none", "place", border.place_before("tmpfs"), 0, nullptr),
                   EFAULT);
       check.fails("source", mount_raw(border.place_before("none"), "place", "tmpfs", 0, nullptr),
                   EFAULT);
       check.fails("target", mount_raw("none", border.place_before("place"), "tmpfs", 0, nullptr),
                   EFAULT);
       check.fails("data at the page", mount_raw("none", "place", "tmpfs", 0, border.line()),
                   EFAULT);
     }},
    {"options without an end before a page that is not there", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       // The kernel copies what there is of a page, and takes the rest to be zero.
       const Border border(check, Border::Beyond::kUnmapped);
       check.gives("mount", mount_raw("none", "place", "tmpfs", 0, border.place_before("mode=700")),
                   0);
     }},
    {"options of a page without an end", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       std::string data(kPage, ',');
       data += "nonsense";
       check.gives("mount", mount_raw("none", "place", "tmpfs", 0, data.data()), 0);
       // The last byte of the page is the kernel's.
       std::string longest(kPage - 8, ',');
       longest += "mode=700nonsense";
       check.gives("mount with one at its end",
                   mount_raw("none", "place", "tmpfs", 0, longest.data()), 0);
     }},
    {"type and source that are too long", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       const std::string text(kPage, 'a');
       check.fails("type", mount_raw("none", "place", text.c_str(), 0, nullptr), EINVAL);
       for (const char* type : {"tmpfs", "proc", "ext4", "ramfs"}) {
         check.fails(std::string("source of ") + type,
                     mount_raw(text.c_str(), "place", type, 0, nullptr), EINVAL);
       }
     }},
    {"longest type", Off::kHolds,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       const std::string text(kPage - 1, 'a');
       check.fails("mount", mount_raw("none", "place", text.c_str(), 0, nullptr), ENODEV);
     }},
    {"longest source", Off::kFails,
     [](const Checks& check) {
       prepare_place(check);
       const std::string text(kPage - 1, 'a');
       check.gives("mount", mount_raw(text.c_str(), "place", "tmpfs", 0, nullptr), 0);
     }},
    {"longest source of a device", Off::kFails,
     [](const Checks& check) {
       own_mounts(check);
       make_directory(check, "place");
       const std::string text(kPage - 1, 'a');
       check.fails("mount", mount_raw(text.c_str(), "place", "ext4", 0, nullptr), ENAMETOOLONG);
     }},
    {"type, source, options, path: in that order", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       const char* const bad = at_address(1);
       const std::string text(kPage, 'a');
       const std::string longer(kPage + 1, '/');
       check.fails("type before source", mount_raw(bad, bad, text.c_str(), 0, bad), EINVAL);
       check.fails("source before options", mount_raw(text.c_str(), bad, "tmpfs", 0, bad), EINVAL);
       check.fails("options before path", mount_raw("none", longer.c_str(), "tmpfs", 0, bad),
                   EFAULT);
       check.fails("path before type's name",
                   mount_raw("none", longer.c_str(), "nosuchfs", 0, nullptr), ENAMETOOLONG);
       check.fails("path before the right", mount_raw("none", "x", "ramfs", 0, nullptr), ENOENT);
     }},
    {"strings in a mapped file past its end", Off::kHolds,
     [](const Checks& check) {
       prepare_place(check);
       make_file(check, "file");
       const int file = open_descriptor(check, "file", O_RDWR);
       const void* const page = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file, 0);
       check.arrange("mmap", page != MAP_FAILED);
       check.fails("type", mount_raw("none", "place", page, 0, nullptr), EFAULT);
       check.fails("options", mount_raw("none", "place", "tmpfs", 0, page), EFAULT);
     }},
};

}  // namespace

std::span<const Case> mount_memory() {
  return kCases;
}

}  // namespace sidecall::grid
