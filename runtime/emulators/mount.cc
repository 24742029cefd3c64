// Why: containers mount filesystem images from loop devices and disks, which the kernel lets the
// host's root alone do; and containers without CAP_SYS_ADMIN, as engines make them by default,
// mount tmpfs, overlay and proc for what they nest.
//
// And file servers: NFS and SMB, which the kernel leaves to the host's root as well.
//
// Why it is safe: only listed types with listed options are mounted. What root of a user namespace
// may mount is mounted by the worker, which is no more than that. A block device must be listed by
// number; its filesystem is mounted by the helper in a workshop, with nodev locked on it by the
// kernel, and arrives id-mapped, so that root inside is root of its files; or a program that is
// nobody outside the sandbox serves it (emulators/mount_fuse.h). A server must
// be listed by its address; what is mounted of it is mounted there too, on the caller's own
// network, which must belong to the sandbox. The path that is mounted on is walked as the caller,
// and the mount attached with the caller's rights.
#include "emulators/mount.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>

#include "emulators/device_list.h"
#include "emulators/filesystem_list.h"
#include "emulators/fuse_list.h"
#include "emulators/mount_callers.h"
#include "emulators/mount_ends.h"
#include "emulators/mount_fuse.h"

namespace sidecall::emulators {
namespace {

using Kind = FilesystemList::Kind;

// Indices into the row's members.
enum : unsigned { kMount, kFsopen, kFsconfig };

// What the helper is asked for, in the last of a step's numbers.
enum : std::uint64_t { kMakeAside, kDropAside, kMakeNode, kDropNode };
constexpr std::size_t kWhat = 7;

// The kernel copies one page of each of the strings but the path.
constexpr std::size_t kPage = 4096;

// mount(2) does something else than mount where it finds any of these.
constexpr std::uint64_t kOtherActions =
    MS_REMOUNT | MS_BIND | MS_MOVE | MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE;
// An ancient mount(8) puts this into the upper half, whose bits then mean nothing.
constexpr std::uint64_t kMagic = MS_MGC_VAL;
constexpr std::uint64_t kMagicMask = MS_MGC_MSK;

constexpr std::uint64_t kNoUser = std::uint64_t{1} << 31U;  // MS_NOUSER: the kernel's own, EINVAL

bool mounts_something_new(std::uint64_t flags) {
  if ((flags & kMagicMask) == kMagic) flags &= ~kMagicMask;
  return (flags & kOtherActions) == 0;
}

// A string that the kernel copies by strndup_user(): EINVAL where it is longer than a page.
SysResult<std::string> read_short(kernel::Target& target, std::uint64_t address) {
  auto text = target.read_string(address, kPage);
  if (!text && text.error().value == ENAMETOOLONG) return sys_failure(EINVAL);
  return text;
}

class MountEmulator final : public Emulator {
 public:
  MountEmulator(FilesystemList filesystems, FuseList fuse, DeviceList devices, MountCallers callers,
                bool shift)
      : filesystems_(std::move(filesystems)),
        fuse_(std::move(fuse)),
        devices_(std::move(devices)),
        callers_(callers),
        shift_(shift) {}

  Outcome emulate(const Call& call, Environment& environment) const override {
    if (call.member != kMount) return Errno{ENOSYS};
    const std::uint64_t source_at = call.args[0];
    const std::uint64_t target_at = call.args[1];
    const std::uint64_t type_at = call.args[2];
    const std::uint64_t flags = call.args[3];
    const std::uint64_t data_at = call.args[4];
    if (!mounts_something_new(flags) || type_at == 0) return Continue{};
    if (!environment.sandbox.has_own_user_namespace()) return Continue{};
    kernel::Target& target = environment.target;
    kernel::MountArguments wanted;
    wanted.flags = flags;

    // In the kernel's order: type, source, data, target.
    auto type = read_short(target, type_at);
    if (!type) return type.error();
    const FilesystemList::Entry* entry = filesystems_.find(*type);
    if (entry == nullptr) return Continue{};
    wanted.type = std::move(*type);
    auto credentials = target.credentials();
    if (!credentials) return credentials.error();
    const auto right = mount_right(callers_, *credentials, environment);
    if (!right) return right.error();
    if (*right == MountRight::kNone) return Continue{};
    // What its own right is good for the kernel does itself, and exactly.
    if (*right == MountRight::kOwn && entry->kind == Kind::kContainer) return Continue{};

    if (source_at != 0) {
      auto source = read_short(target, source_at);
      if (!source) return source.error();
      wanted.source = std::move(*source);
    }
    if (data_at != 0) {
      auto data = target.read_page(data_at);
      if (!data) return data.error();
      wanted.data = std::move(*data);
    }
    if (!entry->allows(wanted.data.value_or(""))) return Continue{};
    auto text = target.read_string(target_at, PATH_MAX);
    if (!text) return text.error();
    if (text->empty()) return Errno{ENOENT};
    // A source or a layer may be relative to the working directory.
    const bool others = entry->kind == Kind::kDevice || wanted.type == "overlay";
    auto path = mount_path(target, std::move(*text), std::move(*credentials), *right,
                           others ? OwnLinks::kWalk : OwnLinks::kFollow);
    if (!path) return path.error();
    wanted.target = path->text;

    if (environment.made_before && is_there(wanted.target, *path, environment)) return Value{0};
    if (fuse_.command(entry->type) != nullptr) {
      return mount_by_program(wanted, *path, devices_, {.make = kMakeNode, .drop = kDropNode},
                              environment);
    }
    if (entry->kind == Kind::kDevice) return mount_device(wanted, *path, environment);
    if (entry->kind == Kind::kNetwork) return mount_network(wanted, *path, environment);
    if (wanted.type == "proc") return mount_proc(wanted, *path, environment);
    return as_root_of_the_sandbox(wanted, *path, environment);
  }

  StepWords describe(const Step& step) const override {
    if (step.numbers[kWhat] == kDropAside || step.numbers[kWhat] == kDropNode) return {};
    if (step.numbers[kWhat] == kMakeNode) {
      return {.what = "device b " + std::to_string(gnu_dev_major(step.numbers[1])) + ":" +
                      std::to_string(gnu_dev_minor(step.numbers[1])) + " opened for a program"};
    }
    if (step.texts.size() < 2) return {.what = "mount"};
    return {.what = "mount of " + step.texts[0] + " from " + step.texts[1]};
  }

  SysResult<StepResult> perform(const Step& step, kernel::HostActions& host) const override {
    if (step.numbers[kWhat] == kDropAside) {
      host.drop_aside();
      return StepResult{};
    }
    if (step.numbers[kWhat] == kDropNode) {
      host.drop_loose_node();
      return StepResult{};
    }
    if (step.numbers[kWhat] == kMakeNode) {
      const auto device = static_cast<dev_t>(step.numbers[1]);
      if (fuse_.empty() || !allows(device)) return sys_failure(EPERM);
      return give_node(device, host);
    }
    if (step.texts.size() != 3) return sys_failure(EINVAL);
    const std::string& type = step.texts[0];
    const std::string& data = step.texts[2];
    const FilesystemList::Entry* entry = filesystems_.find(type);
    if (entry == nullptr || fuse_.command(type) != nullptr || !entry->allows(data) ||
        !mounts_something_new(step.numbers[0])) {
      return sys_failure(EPERM);
    }
    kernel::AsideMount wanted{.type = type,
                              .source = step.texts[1],
                              .data = data,
                              .flags = step.numbers[0] | MS_NODEV,
                              .id_mapped = shift_};
    if (entry->kind == Kind::kDevice) {
      wanted.device = static_cast<dev_t>(step.numbers[1]);
      if (!allows(wanted.device)) return sys_failure(EPERM);
    } else if (entry->kind == Kind::kNetwork && step.fds.size() == 1) {
      wanted.network = step.fds[0].get();
    } else {
      return sys_failure(EPERM);
    }
    auto made = host.mount_aside(wanted);
    if (!made) return tl::unexpected<Errno>(made.error());
    return StepResult{.value = 0, .bytes = std::move(*made)};
  }

  SysResult<StepResult> launch(const Step& step, kernel::FusePrograms& programs) const override {
    if (step.texts.size() != 2 || step.fds.size() != 1) return sys_failure(EINVAL);
    const FilesystemList::Entry* entry = filesystems_.find(step.texts[0]);
    const auto* command = fuse_.command(step.texts[0]);
    if (entry == nullptr || command == nullptr || !entry->allows(step.texts[1])) {
      return sys_failure(EPERM);
    }
    return start_program(*command, step, programs);
  }

  Rights further_rights() const override { return fuse_.empty() ? Rights{} : fuse_rights(); }

 private:
  [[nodiscard]] bool allows(dev_t device) const {
    return devices_.allows(S_IFBLK, gnu_dev_major(device), gnu_dev_minor(device));
  }

  // Mounts as the caller, with CAP_SYS_ADMIN lent in the sandbox's user namespace.
  static Outcome as_root_of_the_sandbox(const kernel::MountArguments& wanted,
                                        const CallerPath& path, Environment& environment) {
    std::uint64_t made = 0;
    const auto mounted =
        environment.actor->as_caller(path.view, [&](kernel::CallerFiles& files) -> SysResult<void> {
          if (auto done = files.mount(wanted); !done) return done;
          made = number_at(files, wanted.target);
          return {};
        });
    if (!mounted) return mounted.error();
    environment.sandbox.mounts().remember(made);
    return Value{0};
  }

  // Whether a mount of ours lies there: this one, when the call was made before.
  static bool is_there(const std::string& target, const CallerPath& path,
                       Environment& environment) {
    std::uint64_t id = 0;
    const auto looked =
        environment.actor->as_caller(path.view, [&](kernel::CallerFiles& files) -> SysResult<void> {
          id = number_at(files, target);
          return {};
        });
    return looked && environment.sandbox.mounts().has(id);
  }

  // Which mount lies there, for the umount emulator; kUnknown where that cannot be told, as before
  // Linux 6.8. What has been mounted by then stays, and so is a success.
  static std::uint64_t number_at(kernel::CallerFiles& files, const std::string& target) {
    const auto mounted = files.open_path(target, 0);
    if (!mounted) return MountLedger::kUnknown;
    return files.mount_id(mounted->get()).value_or(MountLedger::kUnknown);
  }

  // A proc of the caller's pid namespace: what is masked in the container's own stays so.
  static Outcome mount_proc(const kernel::MountArguments& wanted, const CallerPath& path,
                            Environment& environment) {
    if (wanted.data && !wanted.data->empty()) return Continue{};
    const auto same = environment.target.in_sandbox_pid_namespace();
    if (!same) return same.error();
    auto pids = environment.target.open_namespace("pid");
    if (!pids) return pids.error();
    std::uint64_t made = 0;
    const auto mounted =
        environment.actor->as_caller(path.view, [&](kernel::CallerFiles& files) -> SysResult<void> {
          auto place = files.open_path(wanted.target, 0);
          if (!place) return tl::unexpected<Errno>(place.error());
          if ((wanted.flags & kNoUser) != 0) return sys_failure(EINVAL);
          if (const int number = refusal_of_place(place->get(), 0); number != 0) {
            return sys_failure(number);
          }
          auto proc =
              *same ? files.copy_proc(wanted.flags) : files.new_proc(pids->get(), wanted.flags);
          if (!proc) return tl::unexpected<Errno>(proc.error());
          if (auto attached = files.attach_mount(proc->get(), place->get()); !attached) {
            return attached;
          }
          made = number_at(files, wanted.target);
          return {};
        });
    if (!mounted) return mounted.error();
    environment.sandbox.mounts().remember(made);
    return Value{0};
  }

  Outcome mount_device(const kernel::MountArguments& wanted, const CallerPath& path,
                       Environment& environment) const {
    const auto ends = find_mount_ends(wanted, path, environment);
    if (!ends) return ends.error();
    struct stat about {};
    if (::fstat(ends->source.get(), &about) != 0) return Errno{errno};
    if (!S_ISBLK(about.st_mode)) return Errno{ENOTBLK};
    if (!allows(about.st_rdev)) return Continue{};

    Step make;
    make.numbers[1] = about.st_rdev;
    return mount_aside(std::move(make), wanted, ends->place, path, environment);
  }

  // Of a server, which is reached by the caller's network.
  static Outcome mount_network(const kernel::MountArguments& wanted, const CallerPath& path,
                               Environment& environment) {
    const auto place = find_mount_place(wanted, path, environment);
    if (!place) return place.error();
    auto network = environment.target.open_namespace("net");
    if (!network) return network.error();
    Step make;
    make.fds.push_back(std::move(*network));
    return mount_aside(std::move(make), wanted, *place, path, environment);
  }

  // Has the helper mount it, and attaches that as the caller. `make` has what is the kind's own.
  static Outcome mount_aside(Step make, const kernel::MountArguments& wanted, const UniqueFd& place,
                             const CallerPath& path, Environment& environment) {
    make.numbers[0] = wanted.flags;
    make.numbers[kWhat] = kMakeAside;
    make.texts = {*wanted.type, wanted.source.value_or(""), wanted.data.value_or("")};
    const auto aside = environment.ask_helper(make);
    if (!aside) return aside.error();
    auto mount = environment.actor->take_aside(aside->bytes);
    Step drop;
    drop.numbers[kWhat] = kDropAside;
    static_cast<void>(environment.ask_helper(drop));
    if (!mount) return mount.error();
    return attach_at(place, *mount, make.numbers[1], path, environment);
  }

  FilesystemList filesystems_;
  FuseList fuse_;
  DeviceList devices_;
  MountCallers callers_;
  bool shift_;
};

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  using Texts = std::vector<std::string>;
  auto filesystems = FilesystemList::parse(option_or(options, "filesystems", Texts{}));
  if (!filesystems) return pass_on(std::move(filesystems), "filesystems");
  auto fuse = FuseList::parse(option_or(options, "fuse", Texts{}), *filesystems);
  if (!fuse) return pass_on(std::move(fuse), "fuse");
  auto devices = DeviceList::parse(option_or(options, "devices", Texts{}));
  if (!devices) return pass_on(std::move(devices), "devices");
  auto callers = MountCallers::parse(options);
  if (!callers) return pass_on(std::move(callers));
  return std::make_unique<MountEmulator>(std::move(*filesystems), std::move(*fuse),
                                         std::move(*devices), *callers,
                                         option_or(options, "shift", true));
}

// With mount(2) emulated, the newer interface is steered back to it: libraries fall back to
// mount(2) where these two are not there.
std::optional<FixedAnswer> fixed(const Options&, std::size_t member) {
  if (member == kMount) return std::nullopt;
  return FixedAnswer{.errno_value = ENOSYS};
}

}  // namespace

Row mount_row() {
  // New mounts: with no flag of another action, or with the magic number and none in the lower
  // half.
  static const std::array<Conditions, 2> kNotify = {
      Conditions{{3, Compare::kMaskedEqual, kOtherActions, 0}},
      Conditions{{3, Compare::kMaskedEqual, kMagicMask | MS_REMOUNT | MS_BIND | MS_MOVE, kMagic}}};
  static const std::array<emulators::Member, 3> kMembers = {emulators::Member{"mount", kNotify},
                                                            emulators::Member{"fsopen", {}},
                                                            emulators::Member{"fsconfig", {}}};
  static constexpr std::array<OptionSpec, 5> kOptions = {
      OptionSpec{"filesystems", OptionType::kStringList, true,
                 "types and their options: \"ext4\", \"tmpfs: size,mode\", \"overlay: *\", \"nfs4: "
                 "addr=192.0.2.1,vers\""},
      OptionSpec{"devices", OptionType::kStringList, false,
                 "block devices whose filesystems may be mounted: \"b 7:0\", \"b 7:*\"; default: "
                 "none"},
      OptionSpec{"fuse", OptionType::kStringList, false,
                 "types of \"filesystems\" that a program serves in the kernel's place: \"ext4: "
                 "fuse2fs\"; default: none"},
      OptionSpec{"shift", OptionType::kBool, false,
                 "files of a device's filesystem belong to the sandbox's ids, where the filesystem "
                 "can be id-mapped; default: true"},
      kMountCallersOption};
  return Row{
      .name = "mount",
      .members = kMembers,
      .support = Support::kPartial,
      .rights = {.needs = Needs::kFiles,
                 .capabilities = kernel::actor_capabilities() | 1ULL << CAP_SYS_ADMIN,
                 .host_capabilities = 1ULL << CAP_SYS_ADMIN | 1ULL << CAP_SYS_CHROOT |
                                      1ULL << CAP_MKNOD | 1ULL << CAP_DAC_OVERRIDE,
                 .makes_mounts = true,
                 .own_users_only = true},
      .repeatable = false,  // the second would lie over the first
      .options = kOptions,
      .summary = "mounts listed filesystems for sandboxes with a user namespace of their own",
      .notes =
          "Bind, remount, move and propagation changes stay with the kernel, as does what a caller "
          "may mount by its own right. Filesystems of devices and servers are always mounted "
          "nodev.",
      .example =
          R"({"rules": [{"emulate": "mount", "options": {"filesystems": ["ext4", "tmpfs: size,mode"], "devices": ["b 7:*"]}}]})",
      .make = make,
      .fixed = fixed,
  };
}

}  // namespace sidecall::emulators
