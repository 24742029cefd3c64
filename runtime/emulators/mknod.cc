// Why: image builders, debootstrap, tar and nested container engines make device nodes, for which
// the kernel wants CAP_MKNOD in the initial user namespace; a container's root has it only in its
// own.
//
// Why it is safe: the call is first made as the caller, on copies. Only where the kernel then says
// EPERM, having resolved the path and found the directory writable with the caller's own rights,
// and the node is in the policy's list, does the helper make it in that very directory, with the
// caller's ids and umask. A caller that lacks CAP_MKNOD in its own namespace, or that is not in the
// sandbox's user namespace, gets the kernel's own verdict, as does every node that is not listed.
#include "emulators/mknod.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>

#include "emulators/caller_path.h"
#include "emulators/device_list.h"

namespace sidecall::emulators {
namespace {

// Indices into the row's members.
enum : unsigned { kMknod, kMknodat };

struct Device {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
};

// The kernel takes dev as an unsigned int: new_decode_dev().
Device unpack(std::uint64_t register_value) {
  const auto dev = static_cast<std::uint32_t>(register_value);
  return {.major = (dev & 0xfff00U) >> 8U, .minor = (dev & 0xffU) | ((dev >> 12U) & 0xfff00U)};
}

// What the helper is asked for, in the last of a step's numbers, and what it answers to kMake.
enum : std::uint64_t { kMake, kMakeLoose, kDropLoose };
constexpr std::size_t kWhat = 7;
enum : std::int64_t { kWorks, kDoesNotWork };

class MknodEmulator final : public Emulator {
 public:
  MknodEmulator(DeviceList devices, bool bind) : devices_(std::move(devices)), bind_(bind) {}

  Outcome emulate(const Call& call, Environment& environment) const override {
    const bool at = call.member == kMknodat;
    const int dirfd = at ? static_cast<int>(call.args[0]) : AT_FDCWD;
    const std::uint64_t path_address = call.args[at ? 1 : 0];
    // An umode_t, 16 bits.
    const auto mode = static_cast<std::uint16_t>(call.args[at ? 2 : 1]);
    const std::uint64_t dev = call.args[at ? 3 : 2];
    const Device device = unpack(dev);

    if (!S_ISCHR(mode) && !S_ISBLK(mode)) return Continue{};
    if (!devices_.allows(mode, device.major, device.minor)) return Continue{};

    kernel::Target& target = environment.target;
    auto text = target.read_string(path_address, PATH_MAX);
    if (!text) return text.error();
    auto credentials = target.credentials();
    if (!credentials) return credentials.error();
    const auto in_sandbox = target.in_sandbox_user_namespace();
    if (!in_sandbox) return in_sandbox.error();
    if (!credentials->has_capability(CAP_MKNOD) || !*in_sandbox) return Continue{};

    // An empty path is the kernel's ENOENT before dirfd is looked at.
    if (text->empty()) return Errno{ENOENT};
    auto path =
        caller_path(target, std::move(*text), dirfd, std::move(*credentials), OwnLinks::kNotAtEnd);
    if (!path) return path.error();
    const SplitPath split = split_path(path->text);
    UniqueFd parent;
    const auto made = environment.actor->as_caller(
        path->view, [&](kernel::CallerFiles& files) -> SysResult<void> {
          auto opened = files.open_path(split.directory, O_DIRECTORY);
          if (!opened) return tl::unexpected<Errno>(opened.error());
          parent = std::move(*opened);
          return files.make_node(parent.get(), split.name, mode,
                                 ::makedev(device.major, device.minor));
        });
    if (made) return Value{0};
    // Ours, of the time before: nobody else's node has been taken for it, as it was not there then.
    if (made.error().value == EEXIST && environment.made_before) return Value{0};
    if (made.error().value != EPERM || !parent) return made.error();

    const kernel::Credentials& ids = path->view.credentials;
    Step step;
    step.numbers = {mode, dev, ids.fsuid, ids.fsgid, ids.umask};
    step.texts.push_back(split.name);
    step.fds.push_back(std::move(parent));
    const auto performed = environment.ask_helper(step);
    const bool is_refused =
        !performed && (performed.error().value == EPERM || performed.error().value == EOPNOTSUPP);
    const bool is_useless = performed && performed->value == kDoesNotWork;
    if (bind_ && environment.sandbox.has_own_user_namespace() && (is_refused || is_useless)) {
      return bind(step, path->view, is_useless, environment);
    }
    if (!performed) return performed.error();
    return Value{0};
  }

  Rights further_rights() const override {
    if (!bind_) return {};
    return {.capabilities = 1ULL << CAP_SYS_ADMIN,
            .host_capabilities = 1ULL << CAP_SYS_ADMIN | 1ULL << CAP_SYS_CHROOT,
            .makes_mounts = true,
            .own_users_only = true};
  }

  SysResult<StepResult> perform(const Step& step, kernel::HostActions& host) const override {
    if (step.numbers[kWhat] == kDropLoose) {
      host.drop_loose_node();
      return StepResult{};
    }
    const bool loose = step.numbers[kWhat] == kMakeLoose;
    if (!loose && (step.texts.size() != 1 || step.fds.size() != 1)) return sys_failure(EINVAL);
    const auto mode = static_cast<std::uint16_t>(step.numbers[0]);
    const Device device = unpack(step.numbers[1]);
    if (!devices_.allows(mode, device.major, device.minor)) return sys_failure(EPERM);
    const kernel::Owner owner{.user = static_cast<uid_t>(step.numbers[2]),
                              .group = static_cast<gid_t>(step.numbers[3]),
                              .umask = static_cast<mode_t>(step.numbers[4])};
    const dev_t number = ::makedev(device.major, device.minor);
    if (loose) {
      auto node = bind_ ? host.loose_node(mode, number, owner) : sys_failure(EPERM);
      if (!node) return tl::unexpected<Errno>(node.error());
      StepResult result;
      result.fds.push_back(std::move(*node));
      return result;
    }
    const int parent = step.fds[0].get();
    const auto made = host.make_node(parent, step.texts[0], mode, number, owner);
    if (!made) return tl::unexpected<Errno>(made.error());
    return StepResult{.value =
                          bind_ && !host.node_works(parent, step.texts[0]) ? kDoesNotWork : kWorks};
  }

  StepWords describe(const Step& step) const override {
    if (step.numbers[kWhat] == kDropLoose) return {};
    const Device device = unpack(step.numbers[1]);
    return {.what = std::string("node ") + (S_ISBLK(step.numbers[0]) ? "b " : "c ") +
                    std::to_string(device.major) + ":" + std::to_string(device.minor),
            .name = step.texts.empty() ? "" : step.texts[0]};
  }

 private:
  // In the node's place, which has none or a useless one: a file with a node mounted on it.
  static Outcome bind(Step& step, kernel::CallerView& view, bool is_useless,
                      Environment& environment) {
    const UniqueFd parent = std::move(step.fds[0]);
    const std::string name = std::move(step.texts[0]);
    step.fds.clear();
    step.texts.clear();
    step.numbers[kWhat] = kMakeLoose;
    const auto node = environment.ask_helper(step);
    if (!node) return node.error();
    if (node->fds.size() != 1) return Errno{EIO};
    auto mounts = environment.target.open_namespace("mnt");
    if (!mounts) return mounts.error();
    view.mount_namespace = std::move(*mounts);
    view.lent = 1ULL << CAP_SYS_ADMIN;
    const auto attached =
        environment.actor->as_caller(view, [&](kernel::CallerFiles& files) -> SysResult<void> {
          if (is_useless) {
            if (auto removed = files.remove(parent.get(), name); !removed) return removed;
          }
          const auto place = files.make_file(parent.get(), name);
          if (!place) return tl::unexpected<Errno>(place.error());
          return files.attach_mount(node->fds[0].get(), place->get());
        });
    step.numbers[kWhat] = kDropLoose;
    static_cast<void>(environment.ask_helper(step));
    if (!attached) return attached.error();
    return Value{0};
  }

  DeviceList devices_;
  bool bind_;
};

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  auto devices = DeviceList::parse(option_or(options, "devices", std::vector<std::string>{}));
  if (!devices) return pass_on(std::move(devices), "devices");
  return std::make_unique<MknodEmulator>(std::move(*devices), option_or(options, "bind", false));
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
  static constexpr std::array<OptionSpec, 2> kOptions = {
      OptionSpec{"devices", OptionType::kStringList, true,
                 "nodes that may be made: \"c 1:3\", \"b 7:0\", \"c 1:*\""},
      OptionSpec{"bind", OptionType::kBool, false,
                 "where a node could not be made or opened, mount one on a file; default: false"}};
  return Row{
      .name = "mknod",
      .members = kMembers,
      .support = Support::kPartial,
      .rights = {.needs = Needs::kFiles,
                 .capabilities = kernel::actor_capabilities(),
                 .host_capabilities = 1ULL << CAP_MKNOD | 1ULL << CAP_DAC_OVERRIDE |
                                      1ULL << CAP_SETUID | 1ULL << CAP_SETGID},
      .repeatable = false,  // the second time gives EEXIST
      .options = kOptions,
      .summary = "makes listed device nodes for callers with CAP_MKNOD in their own namespace",
      .notes =
          "On a filesystem that was mounted in a user namespace the kernel lets nobody open a "
          "device node, this one included; see option bind.",
      .example = R"({"rules": [{"emulate": "mknod", "options": {"devices": ["c 1:3", "c 1:5"]}}]})",
      .make = make,
  };
}

}  // namespace sidecall::emulators
