// What is made: every file type, device numbers on and off the policy's list, odd registers.
#include "grid/caller.h"
#include "grid/mknod.h"

namespace sidecall::grid {
namespace {

constexpr Device kWhiteout{0, 0};
constexpr unsigned kPermissions = 07777;

unsigned permissions_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & kPermissions : ~0U;
}

constexpr Case kCases[] = {
    {"listed character device", Off::kFails,
     [](const Checks& check) {
       check.gives("mknod", make_node("node", S_IFCHR | 0600, {1, 3}), 0);
       check.holds("it is the node", is_node("node", S_IFCHR, {1, 3}));
     }},
    {"listed major, whichever minor", Off::kFails,
     [](const Checks& check) {
       for (const unsigned minor : {0U, 1U, 255U, 256U, 0xfffffU}) {
         const std::string name = "node" + std::to_string(minor);
         check.gives("mknod " + name, make_node(name, S_IFCHR | 0600, {5, minor}), 0);
         check.holds(name + " is the node", is_node(name, S_IFCHR, {5, minor}));
       }
     }},
    {"listed block device", Off::kFails,
     [](const Checks& check) {
       check.gives("mknod", make_node("node", S_IFBLK | 0600, {7, 0}), 0);
       check.holds("it is the node", is_node("node", S_IFBLK, {7, 0}));
     }},
    {"set-id and sticky bits", Off::kFails,
     [](const Checks& check) {
       ::umask(0);
       check.gives("mknod", make_node("node", S_IFCHR | kPermissions), 0);
       check.holds("it has all bits", permissions_of("node") == kPermissions);
     }},
    {"mode of no permissions", Off::kFails,
     [](const Checks& check) {
       check.gives("mknod", make_node("node", S_IFCHR), 0);
       check.holds("it has none", permissions_of("node") == 0);
     }},
    {"mode with more than 16 bits", Off::kFails,
     [](const Checks& check) {
       const auto mode = 0x7fff0000UL | kCharacter;
       check.gives("mknod", make_node_raw("node", mode, encoded(kNull)), 0);
       check.holds("it is the node", is_node("node"));
     }},
    {"registers with garbage in their upper halves", Off::kFails,
     [](const Checks& check) {
       // No upper halves where a long has 32 bits.
       const auto garbage = static_cast<unsigned long>(0xdeadbeefULL << 32U);
       check.gives("mknod", make_node_raw("node", garbage | kCharacter, garbage | encoded(kNull)),
                   0);
       check.holds("it is the node", is_node("node"));
     }},
    {"whiteout", Off::kHolds,
     [](const Checks& check) {
       check.gives("mknod", make_node("node", S_IFCHR, kWhiteout), 0);
       check.holds("it is a whiteout", is_node("node", S_IFCHR, kWhiteout));
       check.gives("mknodat", make_node_at(-100, "other", S_IFCHR | 0600, kWhiteout), 0);
       check.holds("so is the other", is_node("other", S_IFCHR, kWhiteout));
     }},
    {"whiteout with garbage in the upper halves", Off::kHolds,
     [](const Checks& check) {
       const auto garbage = static_cast<unsigned long>(0xdeadbeefULL << 32U);
       check.gives("mknod", make_node_raw("node", garbage | S_IFCHR, garbage), 0);
       check.holds("it is a whiteout", is_node("node", S_IFCHR, kWhiteout));
     }},
    {"regular file", Off::kHolds,
     [](const Checks& check) {
       check.gives("mknod", make_node("file", S_IFREG | 0640, kNull), 0);
       check.holds("it is a file", is_node("file", S_IFREG, {0, 0}));
       check.gives("mknod without a type", make_node("other", 0640, kNull), 0);
       check.holds("so is the other", is_node("other", S_IFREG, {0, 0}));
     }},
    {"fifo", Off::kHolds,
     [](const Checks& check) {
       check.gives("mknod", make_node("fifo", S_IFIFO | 0600, kNull), 0);
       check.holds("it is a fifo", is_node("fifo", S_IFIFO, {0, 0}));
     }},
    {"socket", Off::kHolds,
     [](const Checks& check) {
       check.gives("mknod", make_node("socket", S_IFSOCK | 0600, kNull), 0);
       check.holds("it is a socket", is_node("socket", S_IFSOCK, {0, 0}));
     }},
    {"types that mknod does not make", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod of a directory", make_node("node", S_IFDIR | 0700), EPERM);
       check.fails("mknod of a link", make_node("node", S_IFLNK | 0700), EINVAL);
       for (const unsigned type : {03U, 05U, 07U, 011U, 013U, 015U, 016U, 017U}) {
         check.fails("mknod of type " + std::to_string(type), make_node("node", type << 12U),
                     EINVAL);
       }
     }},
    {"type before path", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod of a directory", make_node_raw(nullptr, S_IFDIR, 0), EPERM);
       check.fails("mknod of a link", make_node_raw(nullptr, S_IFLNK, 0), EINVAL);
     }},
    {"unlisted device", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod c 1:1", make_node("node", S_IFCHR | 0600, {1, 1}), EPERM);
       check.fails("mknod c 3:1", make_node("node", S_IFCHR | 0600, {3, 1}), EPERM);
       check.fails("mknod b 8:0", make_node("node", S_IFBLK | 0600, {8, 0}), EPERM);
       check.fails("mknod b 7:1", make_node("node", S_IFBLK | 0600, {7, 1}), EPERM);
       check.fails("mknod b 0:0", make_node("node", S_IFBLK | 0600, {0, 0}), EPERM);
       check.holds("nothing was made", !exists("node"));
     },
     Where::kContainerOnly},
    {"listed device of the other type", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod b 1:3", make_node("node", S_IFBLK | 0600, {1, 3}), EPERM);
       check.fails("mknod c 7:0", make_node("node", S_IFCHR | 0600, {7, 0}), EPERM);
     },
     Where::kContainerOnly},
    {"device that differs from a listed one above its low bits", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod c 257:3", make_node("node", S_IFCHR | 0600, {257, 3}), EPERM);
       check.fails("mknod c 1:259", make_node("node", S_IFCHR | 0600, {1, 259}), EPERM);
     },
     Where::kContainerOnly},
    {"unlisted device, bad path", Off::kHolds,
     [](const Checks& check) {
       constexpr Device kUnlisted{1, 1};
       make_file(check, "file");
       check.fails("mknod of what is there", make_node("file", S_IFCHR, kUnlisted), EEXIST);
       check.fails("mknod below what is not", make_node("a/b", S_IFCHR, kUnlisted), ENOENT);
       check.fails("mknod of NULL", make_node_raw(nullptr, S_IFCHR, encoded(kUnlisted)), EFAULT);
     }},
    {"what the list withholds", Off::kHolds,
     [](const Checks& check) {
       check.gives("mknod c 1:1", make_node("node", S_IFCHR | 0600, {1, 1}), 0);
       check.gives("mknod b 8:0", make_node("other", S_IFBLK | 0600, {8, 0}), 0);
     },
     Where::kNativeOnly},
};

}  // namespace

std::span<const Case> mknod_types() {
  return kCases;
}

}  // namespace sidecall::grid
