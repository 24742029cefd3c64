// An emulator of every row of the table, with options that let it do as much as it can.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulators/table.h"

namespace sidecall::fuzz {

struct Built {
  const emulators::Row* row = nullptr;
  std::unique_ptr<emulators::Emulator> emulator;
};

// Aborts where a row cannot be built: it then wants options here.
[[nodiscard]] inline std::vector<Built> build_rows() {
  using Texts = std::vector<std::string>;
  const std::map<std::string_view, emulators::Options> options = {
      {"chown", {{"mode", std::string("perform")}}},
      {"clock", {{"mode", std::string("pretend")}}},
      {"mknod", {{"devices", Texts{"c 1:*", "b 7:*"}}}},
      {"mount",
       {{"filesystems", Texts{"ext4: *", "vfat: ro", "tmpfs: size,mode", "overlay: *", "proc"}},
        {"fuse", Texts{"vfat: fusefat"}},
        {"devices", Texts{"b 0:*", "b 7:*"}},
        {"callers", std::string("root")}}},
      {"reboot", {{"mode", std::string("stop")}}},
      {"sched",
       {{"policies", Texts{"fifo", "rr"}},
        {"max_priority", std::int64_t{50}},
        {"min_nice", std::int64_t{-10}}}},
      {"swap", {{"mode", std::string("pretend")}}},
      {"umount", {{"callers", std::string("root")}}},
      {"uname", {{"release", std::string("5.10.0")}}},
      {"xattr", {{"names", Texts{"trusted.overlay.*", "security.capability"}}, {"reads", true}}},
  };
  std::vector<Built> built;
  for (const emulators::Row& row : emulators::table()) {
    const auto found = options.find(row.name);
    auto emulator = row.make(found == options.end() ? emulators::Options{} : found->second);
    if (!emulator) std::abort();
    built.push_back({.row = &row, .emulator = std::move(*emulator)});
  }
  return built;
}

}  // namespace sidecall::fuzz
