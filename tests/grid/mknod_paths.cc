// Where a node lands: every form of path, from every kind of starting point.
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "grid/caller.h"
#include "grid/mknod.h"

namespace sidecall::grid {
namespace {

// "SCRATCH/././…/name", `length` bytes of it.
std::string padded_path(const Checks& check, std::size_t length) {
  std::string path = check.path("");
  const std::string name((length - path.size()) % 2 == 0 ? 2 : 1, 'n');
  while (path.size() + name.size() < length) path += "./";
  return path + name;
}

constexpr Case kCases[] = {
    {"absolute path", Off::kFails,
     [](const Checks& check) {
       check.gives("mknod", make_node(check.path("node")), 0);
       check.holds("it is the node", is_node(check.path("node")));
     }},
    {"relative path", Off::kFails,
     [](const Checks& check) {
       check.gives("mknod", make_node("node"), 0);
       check.holds("it is in the working directory", is_node(check.path("node")));
     }},
    {"relative path after chdir", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_directory(check, "a/b");
       check.arrange("chdir", ::chdir("a/b") == 0);
       check.gives("mknod", make_node("./node"), 0);
       check.holds("it is there", is_node(check.path("a/b/node")));
     }},
    {"dot-dot", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_directory(check, "a/b");
       check.arrange("chdir", ::chdir("a/b") == 0);
       check.gives("mknod", make_node("../../node"), 0);
       check.holds("it is two levels up", is_node(check.path("node")));
     }},
    {"dot-dot in the middle, repeated slashes", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       check.gives("mknod", make_node(check.path("a//.././//a/node")), 0);
       check.holds("it is there", is_node(check.path("a/node")));
     }},
    {"working directory that was moved", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       check.arrange("chdir", ::chdir("a") == 0);
       check.arrange("rename", ::rename("../a", "../b") == 0);
       check.gives("mknod", make_node("node"), 0);
       check.holds("it is in the moved one", is_node(check.path("b/node")));
     }},
    {"mknodat by a directory descriptor", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       const int dirfd = open_descriptor(check, "a", O_RDONLY | O_DIRECTORY);
       check.gives("mknodat", make_node_at(dirfd, "node"), 0);
       check.holds("it is there", is_node(check.path("a/node")));
     }},
    {"mknodat by an O_PATH descriptor", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       const int dirfd = open_descriptor(check, "a", O_PATH);
       check.gives("mknodat", make_node_at(dirfd, "../a/node"), 0);
       check.holds("it is there", is_node(check.path("a/node")));
     }},
    {"mknodat by AT_FDCWD", Off::kFails,
     [](const Checks& check) {
       check.gives("mknodat", make_node_at(AT_FDCWD, "node"), 0);
       check.holds("it is in the working directory", is_node(check.path("node")));
     }},
    {"mknodat with an absolute path and a bad descriptor", Off::kFails,
     [](const Checks& check) {
       check.gives("mknodat", make_node_at(4242, check.path("node")), 0);
       check.holds("it is there", is_node(check.path("node")));
     }},
    {"relative link in the middle", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_directory(check, "a/b");
       make_link(check, "a/b", "link");
       check.gives("mknod", make_node("link/node"), 0);
       check.holds("it is behind the link", is_node(check.path("a/b/node")));
     }},
    {"absolute link in the middle", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_link(check, check.path("a"), "link");
       check.gives("mknod", make_node("link/node"), 0);
       check.holds("it is behind the link", is_node(check.path("a/node")));
     }},
    {"dot-dot behind a link", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_directory(check, "a/b");
       make_link(check, "a/b", "link");
       check.gives("mknod", make_node("link/../node"), 0);
       check.holds("it is where the link's target is", is_node(check.path("a/node")));
     }},
    {"path of 4095 bytes", Off::kFails,
     [](const Checks& check) {
       const std::string path = padded_path(check, PATH_MAX - 1);
       check.gives("mknod", make_node(path), 0);
       check.holds("it is there", is_node(path));
     }},
    {"name of 255 bytes", Off::kFails,
     [](const Checks& check) {
       const std::string path = check.path(std::string(NAME_MAX, 'n'));
       check.gives("mknod", make_node(path), 0);
       check.holds("it is there", is_node(path));
     }},
    {"name of bytes that are no text", Off::kFails,
     [](const Checks& check) {
       const std::string path = check.path("\x01\n\xff\xfe \\");
       check.gives("mknod", make_node(path), 0);
       check.holds("it is there", is_node(path));
     }},
    {"another root", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "jail");
       make_directory(check, "jail/a");
       make_link(check, "/a", "jail/link");
       in_child(check, [&] {
         check.arrange("chroot", ::chroot("jail") == 0 && ::chdir("/") == 0);
         check.gives("mknod", make_node("/link/../../../a/node"), 0);
       });
       check.holds("it is below that root", is_node(check.path("jail/a/node")));
     }},
    {"another root, working directory outside of it", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "a");
       make_directory(check, "jail");
       in_child(check, [&] {
         check.arrange("chdir", ::chdir("a") == 0 && ::chroot("../jail") == 0);
         check.gives("mknod", make_node("node"), 0);
         check.gives("mknod through dot-dot", make_node("../other"), 0);
         check.gives("mknod through the root's dot-dot", make_node("../jail/../third"), 0);
       });
       check.holds("it is in the directory", is_node(check.path("a/node")));
       check.holds("the other is above it", is_node(check.path("other")));
       check.holds("the third is in the root", is_node(check.path("jail/third")));
     }},
    {"another root that is a detached mount", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "jail");
       in_child(check, [&] {
         own_mounts(check);
         check.arrange("tmpfs", ::mount("none", "jail", "tmpfs", 0, nullptr) == 0);
         const int inside = open_descriptor(check, "jail", O_RDONLY | O_DIRECTORY);
         check.arrange("umount", ::umount2("jail", MNT_DETACH) == 0);
         check.arrange("chroot", ::fchdir(inside) == 0 && ::chroot(".") == 0);
         check.gives("mknod", make_node("/node"), 0);
         check.holds("it is there", is_node("/node"));
       });
     }},
    {"another mount namespace", Off::kFails,
     [](const Checks& check) {
       make_directory(check, "mounted");
       in_child(check, [&] {
         own_mounts(check);
         check.arrange("tmpfs", ::mount("none", "mounted", "tmpfs", 0, nullptr) == 0);
         check.gives("mknod", make_node(check.path("mounted/node")), 0);
         check.holds("it is in the mount", is_node(check.path("mounted/node")));
       });
       check.holds("it is not below the mount", !exists(check.path("mounted/node")));
     }},
};

}  // namespace

std::span<const Case> mknod_paths() {
  return kCases;
}

}  // namespace sidecall::grid
