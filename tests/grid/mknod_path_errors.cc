// Paths that lead nowhere: the kernel's errno, in the kernel's order.
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <unistd.h>

#include "grid/caller.h"
#include "grid/mknod.h"

namespace sidecall::grid {
namespace {

constexpr Case kCases[] = {
    {"empty path", Off::kHolds,
     [](const Checks& check) { check.fails("mknod", make_node(""), ENOENT); }},
    {"empty path by a bad descriptor", Off::kHolds,
     [](const Checks& check) { check.fails("mknodat", make_node_at(4242, ""), ENOENT); }},
    {"empty path by a directory descriptor", Off::kHolds,
     [](const Checks& check) {
       const int dirfd = open_descriptor(check, ".", O_RDONLY);
       check.fails("mknodat", make_node_at(dirfd, ""), ENOENT);
     }},
    {"missing directory", Off::kHolds,
     [](const Checks& check) { check.fails("mknod", make_node(check.path("a/node")), ENOENT); }},
    {"file as a directory", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       check.fails("mknod", make_node("file/node"), ENOTDIR);
       check.fails("mknod through dot-dot", make_node("file/../node"), ENOTDIR);
     }},
    {"trailing slash", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       check.fails("mknod of what is not there", make_node("node/"), ENOENT);
       check.fails("mknod of a directory", make_node("a/"), EEXIST);
     }},
    {"the directory itself", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod .", make_node("."), EEXIST);
       check.fails("mknod ..", make_node(".."), EEXIST);
       check.fails("mknod /", make_node("/"), EEXIST);
     }},
    {"existing file", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       check.fails("mknod", make_node("file"), EEXIST);
       check.fails("mknodat", make_node_at(AT_FDCWD, "file"), EEXIST);
     }},
    {"existing node", Off::kFails,
     [](const Checks& check) {
       check.gives("mknod", make_node("node"), 0);
       check.fails("mknod again", make_node("node"), EEXIST);
       check.fails("mknod below it", make_node("node/x"), ENOTDIR);
     }},
    {"existing file in a directory that is not writable", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       make_file(check, "a/file");
       act_as(check, {.uid = 1234, .gid = 1234}, {CAP_MKNOD});
       check.fails("mknod", make_node("a/file"), EEXIST);
     }},
    {"link as the last part", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       make_link(check, "a", "link");
       make_link(check, "nowhere", "dangling");
       check.fails("mknod of a link", make_node("link"), EEXIST);
       check.fails("mknod of a dangling link", make_node("dangling"), EEXIST);
       check.holds("nothing was made behind it", !exists(check.path("nowhere")));
     }},
    {"dangling link in the middle", Off::kHolds,
     [](const Checks& check) {
       make_link(check, "nowhere", "dangling");
       check.fails("mknod", make_node("dangling/node"), ENOENT);
     }},
    {"loop of links", Off::kHolds,
     [](const Checks& check) {
       make_link(check, "loop", "loop");
       check.fails("mknod", make_node("loop/node"), ELOOP);
     }},
    {"more links than the kernel follows", Off::kHolds,
     [](const Checks& check) {
       make_link(check, ".", "link");
       std::string path;
       for (int count = 0; count < 41; ++count) path += "link/";
       check.fails("mknod", make_node(path + "node"), ELOOP);
     }},
    {"as many links as the kernel follows", Off::kFails,
     [](const Checks& check) {
       make_link(check, ".", "link");
       std::string path;
       for (int count = 0; count < 40; ++count) path += "link/";
       check.gives("mknod", make_node(path + "node"), 0);
     }},
    {"name of 256 bytes", Off::kHolds,
     [](const Checks& check) {
       const std::string name(NAME_MAX + 1, 'n');
       check.fails("mknod", make_node(name), ENAMETOOLONG);
       check.fails("mknod below it", make_node(name + "/node"), ENAMETOOLONG);
     }},
    {"path of 4096 bytes", Off::kHolds,
     [](const Checks& check) {
       check.fails("mknod", make_node(std::string(PATH_MAX, '/')), ENAMETOOLONG);
       check.fails("mknod of one byte less", make_node(std::string(PATH_MAX - 1, '/')), EEXIST);
     }},
    {"bad descriptors", Off::kHolds,
     [](const Checks& check) {
       for (const int dirfd : {-1, -99, 4242, INT_MAX, INT_MIN}) {
         check.fails("mknodat by " + std::to_string(dirfd), make_node_at(dirfd, "node"), EBADF);
       }
       const int closed = open_descriptor(check, ".", O_RDONLY);
       ::close(closed);
       check.fails("mknodat by a closed one", make_node_at(closed, "node"), EBADF);
     }},
    {"descriptor of a file", Off::kHolds,
     [](const Checks& check) {
       make_file(check, "file");
       check.fails("mknodat", make_node_at(open_descriptor(check, "file", O_RDONLY), "node"),
                   ENOTDIR);
       check.fails("mknodat by O_PATH", make_node_at(open_descriptor(check, "file", O_PATH), "x"),
                   ENOTDIR);
     }},
    {"descriptor of a pipe", Off::kHolds,
     [](const Checks& check) {
       int ends[2];  // NOLINT(modernize-avoid-c-arrays): as pipe(2) wants it
       check.arrange("pipe", ::pipe(ends) == 0);
       check.fails("mknodat", make_node_at(ends[0], "node"), ENOTDIR);
     }},
    {"working directory that was removed", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       check.arrange("chdir", ::chdir("a") == 0);
       check.arrange("rmdir", ::rmdir(check.path("a").c_str()) == 0);
       check.fails("mknod", make_node("node"), ENOENT);
     }},
    {"directory descriptor that was removed", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       const int dirfd = open_descriptor(check, "a", O_PATH);
       check.arrange("rmdir", ::rmdir("a") == 0);
       check.fails("mknodat", make_node_at(dirfd, "node"), ENOENT);
     }},
    {"read-only mount", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "a");
       make_file(check, "a/file");
       own_mounts(check);
       make_read_only(check, "a");
       check.fails("mknod", make_node(check.path("a/node")), EROFS);
       check.fails("mknod of what is there", make_node(check.path("a/file")), EEXIST);
       check.fails("mknod below what is not", make_node(check.path("a/b/node")), ENOENT);
     }},
    {"path that only the first process's root has", Off::kHolds,
     [](const Checks& check) {
       make_directory(check, "jail");
       in_child(check, [&] {
         check.arrange("chroot", ::chroot("jail") == 0 && ::chdir("/") == 0);
         check.fails("mknod", make_node(check.path("node")), ENOENT);
       });
       check.holds("nothing was made", !exists(check.path("node")));
     }},
};

}  // namespace

std::span<const Case> mknod_path_errors() {
  return kCases;
}

}  // namespace sidecall::grid
