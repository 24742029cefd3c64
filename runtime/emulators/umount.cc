// Why: a caller without CAP_SYS_ADMIN for which the mount emulator has mounted something wants to
// take it off again.
//
// Why it is safe: only mounts that the mount emulator has made for this sandbox are taken off, by
// the kernel's own number for each; and only by those whom that emulator serves. What holds
// CAP_SYS_ADMIN in the sandbox's user namespace is left to the kernel.
#include "emulators/umount.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/mount.h>

#include <array>

#include "emulators/mount_callers.h"

namespace sidecall::emulators {
namespace {

// Indices into the row's members.
enum : unsigned { kUmount2, kUmount };

constexpr unsigned kKnownFlags = MNT_FORCE | MNT_DETACH | MNT_EXPIRE | UMOUNT_NOFOLLOW;

class UmountEmulator final : public Emulator {
 public:
  explicit UmountEmulator(MountCallers callers) : callers_(callers) {}

  Outcome emulate(const Call& call, Environment& environment) const override {
    if (!environment.sandbox.has_own_user_namespace()) return Continue{};
    const auto flags = call.member == kUmount ? 0U : static_cast<unsigned>(call.args[1]);
    if ((flags & ~kKnownFlags) != 0) return Errno{EINVAL};
    kernel::Target& target = environment.target;
    auto credentials = target.credentials();
    if (!credentials) return credentials.error();
    const auto right = mount_right(callers_, *credentials, environment);
    if (!right) return right.error();
    if (*right != MountRight::kLent) return Continue{};
    constexpr unsigned kNotToExpire = MNT_FORCE | MNT_DETACH;
    if ((flags & MNT_EXPIRE) != 0 && (flags & kNotToExpire) != 0) return Errno{EINVAL};
    auto text = target.read_string(call.args[0], PATH_MAX);
    if (!text) return text.error();
    if (text->empty()) return Errno{ENOENT};
    const bool follow = (flags & UMOUNT_NOFOLLOW) == 0;
    auto path = mount_path(target, std::move(*text), std::move(*credentials), *right,
                           follow ? OwnLinks::kFollow : OwnLinks::kNotAtEnd);
    if (!path) return path.error();

    std::uint64_t id = 0;
    const auto unmounted = environment.actor->as_caller(
        path->view, [&](kernel::CallerFiles& files) -> SysResult<void> {
          const auto place = files.open_path(path->text, follow ? 0 : O_NOFOLLOW);
          if (!place) return tl::unexpected<Errno>(place.error());
          // Before Linux 6.8 mounts have no such number, and none is known to be ours.
          id = files.mount_id(place->get()).value_or(MountLedger::kUnknown);
          if (!environment.sandbox.mounts().has(id)) return sys_failure(EPERM);
          return files.detach_mount(place->get());
        });
    // It has gone already, when this call was made before.
    if (!unmounted && unmounted.error().value == EPERM && environment.made_before) return Value{0};
    if (!unmounted) return unmounted.error();
    environment.sandbox.mounts().forget(id);
    return Value{0};
  }

 private:
  MountCallers callers_;
};

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  auto callers = MountCallers::parse(options);
  if (!callers) return pass_on(std::move(callers));
  return std::make_unique<UmountEmulator>(*callers);
}

}  // namespace

Row umount_row() {
  static const std::array<emulators::Member, 2> kMembers = {emulators::Member{"umount2", {}},
                                                            emulators::Member{"umount", {}}};
  static constexpr std::array<OptionSpec, 1> kOptions = {kMountCallersOption};
  return Row{
      .name = "umount",
      .members = kMembers,
      .support = Support::kPartial,
      .rights = {.needs = Needs::kFiles,
                 .capabilities = kernel::actor_capabilities() | 1ULL << CAP_SYS_ADMIN,
                 .own_users_only = true},
      .repeatable = false,
      .options = kOptions,
      .summary = "takes off what the mount emulator has mounted for callers without CAP_SYS_ADMIN",
      .notes =
          "Lazily, as by MNT_DETACH: a mount that is in use goes once it is not. What an earlier "
          "worker of the sandbox has mounted is not known any more: EPERM.",
      .example =
          R"({"rules": [{"emulate": "mount", "options": {"filesystems": ["tmpfs: size"], "callers": "root"}}, {"emulate": "umount", "options": {"callers": "root"}}]})",
      .make = make,
  };
}

}  // namespace sidecall::emulators
