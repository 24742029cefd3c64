// What a grid is made of. A grid is one emulator's list of cases; each case makes a system call in
// one particular way (flags, form of the path, credentials, thread, namespace) and states what must
// come of it. The same cases run in three places:
//
//   native  as root on the host, where the kernel itself gives the verdict;
//   off     as root of a user-namespaced container that nobody serves;
//   on      the same, with the grid's policy in force.
//
// Every case must hold natively and on, documented limits aside. With sidecall off it must do what
// it declares: fail, where the call needs the emulator, or hold, where the kernel allows or refuses
// it anyway.
//
// Each case runs in a process of its own, in a scratch directory of its own, so that cases may do
// what they like to their ids, root, umask, descriptors and memory, and come in any order.
//
// Writing one (see mknod_paths.cc): a program `grid_NAME` has an array of Case per theme and
// defines grid(); `sidecall_grid(NAME SOURCES …)` in CMakeLists.txt does the rest. This half of the
// library knows nothing of sidecall and needs only libc, so that it also builds for i386 and runs
// inside any container.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sidecall::grid {

// What a case does in a container with sidecall off.
enum class Off : std::uint8_t {
  kFails,  // it needs the emulator
  kHolds,  // the kernel's own verdict is the wanted one
  // Either; it fails with the emulator, which is a limit that the emulator's documentation states.
  // The day it holds, the grid fails until this is taken back.
  kLimit,
};

enum class Place : std::uint8_t { kNative, kContainer };

// Where a case has a meaning. Elsewhere it is declared not applicable, which is not a skip.
enum class Where : std::uint8_t {
  kEverywhere,
  kNativeOnly,     // root of the host may or sees what root of a container never does
  kContainerOnly,  // what the policy makes different, or what would harm the host
};

// What the container of the runs "off" and "on" is given.
inline constexpr std::uint64_t kMemoryLimit = std::uint64_t{64} << 20U;  // bytes

// States what must hold, and says so where it does not. Threads and children of a case use the one
// it was given. `what` names the call, as a reader of the failure wants it: "mknod through a link".
class Checks {
 public:
  // `record` is an O_APPEND descriptor. `scratch` is the working directory of the case: absolute,
  // without links in it, empty, owned by the caller, mode 0755.
  Checks(int record, std::string scratch) : record_(record), scratch_(std::move(scratch)) {}

  // `result` is what the system call returned, errno as it left it.
  void succeeds(std::string_view what, long result) const;
  void gives(std::string_view what, long result, long wanted) const;
  void fails(std::string_view what, long result, int error) const;
  void holds(std::string_view what, bool held) const;

  // What the case needs before it can judge anything. Where it was not done the case is broken,
  // which no declaration excuses, and its process ends.
  void arrange(std::string_view what, bool done) const;
  // The machine lacks what the case needs. Ends the process; counted and shown.
  [[noreturn]] void skip(std::string_view why) const;

  [[nodiscard]] const std::string& scratch() const { return scratch_; }
  // "SCRATCH/name".
  [[nodiscard]] std::string path(std::string_view name) const;

 private:
  void say(char kind, std::string_view text) const;
  int record_;
  std::string scratch_;
};

struct Case {  // NOLINT(clang-analyzer-optin.performance.Padding): in the order that it is read in
  std::string_view name;  // unique in its theme, one line without tabs
  Off off{};
  void (*body)(const Checks& check) = nullptr;
  Where where = Where::kEverywhere;
};

// Cases that belong together. They are shown as "title: name".
struct Theme {
  std::string_view title;
  std::span<const Case> cases;
};

struct Grid {
  std::string_view name;    // the emulator's
  std::string_view policy;  // of the runs "on": a policy file's text
  std::vector<Theme> themes;
  // Whether cases find a block device with an ext4 filesystem at "../image", seen from their
  // scratch directory: a loop device, where the machine has one. They skip where it is not there.
  bool wants_image = false;
};

// Defined once in each program.
[[nodiscard]] Grid grid();

}  // namespace sidecall::grid
