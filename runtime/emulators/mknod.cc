// Why: image builders, debootstrap, tar and nested container engines make device nodes, for which
// the kernel wants CAP_MKNOD in the initial user namespace; a container's root has it only in its
// own.
//
// Why it is safe: only nodes of the policy's allow-list are made, each with the caller's ids,
// groups and umask and below the caller's root, by the kernel's own resolution and checks. A caller
// that lacks CAP_MKNOD in its own namespace, or that is not in the sandbox's user namespace, gets
// the kernel's own verdict, as does every node that is not listed.
#include "emulators/mknod.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>

#include "emulators/device_list.h"

namespace sidecall::emulators {
namespace {

// Indices into the row's members.
enum : unsigned { kMknod, kMknodat };

class MknodEmulator final : public Emulator {
 public:
  explicit MknodEmulator(DeviceList devices) : devices_(std::move(devices)) {}

  Outcome emulate(const Call& call, Environment& environment) const override {
    const bool at = call.member == kMknodat;
    const int dirfd = at ? static_cast<int>(call.args[0]) : AT_FDCWD;
    const std::uint64_t path_address = call.args[at ? 1 : 0];
    // The kernel takes mode as an umode_t (16 bits) and dev as an unsigned int (new_decode_dev).
    const auto mode = static_cast<std::uint16_t>(call.args[at ? 2 : 1]);
    const auto dev = static_cast<std::uint32_t>(call.args[at ? 3 : 2]);
    const std::uint32_t major = (dev & 0xfff00U) >> 8U;
    const std::uint32_t minor = (dev & 0xffU) | ((dev >> 12U) & 0xfff00U);

    if (!S_ISCHR(mode) && !S_ISBLK(mode)) return Continue{};
    if (!devices_.allows(mode, major, minor)) return Continue{};

    kernel::Target& target = environment.target;
    auto path = target.read_string(path_address, PATH_MAX);
    if (!path) return path.error();
    auto credentials = target.credentials();
    if (!credentials) return credentials.error();
    const auto in_sandbox = target.in_sandbox_user_namespace();
    if (!in_sandbox) return in_sandbox.error();
    if (!credentials->has_capability(CAP_MKNOD) || !*in_sandbox) return Continue{};

    // An empty path is the kernel's ENOENT before dirfd is looked at.
    if (path->empty()) return Errno{ENOENT};
    kernel::CallerView view;
    auto root = target.root();
    if (!root) return root.error();
    view.root = std::move(*root);
    if (path->front() != '/') {
      auto base = dirfd == AT_FDCWD ? target.working_directory() : target.descriptor(dirfd);
      if (!base) return base.error();
      view.base = std::move(*base);
    }
    view.credentials = std::move(*credentials);
    const auto made = environment.actor->make_node(view, *path, mode, ::makedev(major, minor));
    if (!made) return made.error();
    return Value{0};
  }

 private:
  DeviceList devices_;
};

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  auto devices = DeviceList::parse(option_or(options, "devices", std::vector<std::string>{}));
  if (!devices) return pass_on(std::move(devices), "devices");
  return std::make_unique<MknodEmulator>(std::move(*devices));
}

// Device nodes but for the overlay whiteout (character device 0:0), which the kernel lets anybody
// make. Of what the filter leaves alone nothing needs CAP_MKNOD.
std::array<Conditions, 2> device_nodes(std::uint8_t mode, std::uint8_t dev) {
  return {
      Conditions{{mode, Compare::kMaskedEqual, S_IFMT, S_IFCHR}, {dev, Compare::kNotEqual, 0, 0}},
      Conditions{{mode, Compare::kMaskedEqual, S_IFMT, S_IFBLK}}};
}

}  // namespace

Row mknod_row() {
  static const auto kMknodNotify = device_nodes(1, 2);
  static const auto kMknodatNotify = device_nodes(2, 3);
  static const std::array<emulators::Member, 2> kMembers = {
      emulators::Member{"mknod", kMknodNotify}, emulators::Member{"mknodat", kMknodatNotify}};
  static constexpr std::array<OptionSpec, 1> kOptions = {
      OptionSpec{"devices", OptionType::kStringList, true,
                 "nodes that may be made: \"c 1:3\", \"b 7:0\", \"c 1:*\""}};
  return Row{
      .name = "mknod",
      .members = kMembers,
      .support = Support::kPartial,
      .needs = Needs::kFiles,
      .repeatable = false,  // the second time gives EEXIST
      .capabilities = 1ULL << CAP_MKNOD | 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_SYS_CHROOT |
                      1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_DAC_READ_SEARCH,
      .options = kOptions,
      .summary = "makes listed device nodes for callers with CAP_MKNOD in their own namespace",
      .notes =
          "Directories are entered and written with the caller's ids and groups, without its "
          "CAP_DAC_OVERRIDE. On a filesystem that was mounted in a user namespace the kernel lets "
          "nobody open a device node, this one included.",
      .example = R"({"rules": [{"emulate": "mknod", "options": {"devices": ["c 1:3", "c 1:5"]}}]})",
      .make = make,
  };
}

}  // namespace sidecall::emulators
