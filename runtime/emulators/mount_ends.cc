#include "emulators/mount_ends.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace sidecall::emulators {

SysResult<MountEnds> find_mount_ends(const kernel::MountArguments& wanted, const CallerPath& path,
                                     Environment& environment) {
  const std::string source =
      with_own_numbers(environment.target, wanted.source.value_or(""), path.view.credentials);
  MountEnds ends;
  const auto found =
      environment.actor->as_caller(path.view, [&](kernel::CallerFiles& files) -> SysResult<void> {
        auto opened = files.open_path(wanted.target, 0);
        if (!opened) return tl::unexpected<Errno>(opened.error());
        ends.place = std::move(*opened);
        if (source.empty()) return sys_failure(EINVAL);
        opened = files.open_path(source, 0);
        if (!opened) return tl::unexpected<Errno>(opened.error());
        ends.source = std::move(*opened);
        return {};
      });
  if (!found) return tl::unexpected<Errno>(found.error());
  return ends;
}

SysResult<UniqueFd> find_mount_place(const kernel::MountArguments& wanted, const CallerPath& path,
                                     Environment& environment) {
  UniqueFd place;
  const auto found =
      environment.actor->as_caller(path.view, [&](kernel::CallerFiles& files) -> SysResult<void> {
        auto opened = files.open_path(wanted.target, 0);
        if (!opened) return tl::unexpected<Errno>(opened.error());
        place = std::move(*opened);
        return {};
      });
  if (!found) return tl::unexpected<Errno>(found.error());
  return place;
}

int refusal_of_place(int place, dev_t device) {
  struct statx about {};
  if (::statx(place, "", AT_EMPTY_PATH, STATX_TYPE, &about) != 0) return errno;
  if (!S_ISDIR(about.stx_mode)) return ENOTDIR;
  // The same filesystem twice at one place.
  const bool is_root = (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  const dev_t there = gnu_dev_makedev(about.stx_dev_major, about.stx_dev_minor);
  return is_root && there == device ? EBUSY : 0;
}

Outcome attach_at(const UniqueFd& place, const UniqueFd& mount, dev_t device,
                  const CallerPath& path, Environment& environment) {
  if (const int number = refusal_of_place(place.get(), device); number != 0) return Errno{number};
  std::uint64_t made = 0;
  const auto attached =
      environment.actor->as_caller(path.view, [&](kernel::CallerFiles& files) -> SysResult<void> {
        if (auto done = files.attach_mount(mount.get(), place.get()); !done) return done;
        made = files.mount_id(mount.get()).value_or(MountLedger::kUnknown);
        return {};
      });
  if (!attached) return attached.error();
  environment.sandbox.mounts().remember(made);
  return Value{0};
}

}  // namespace sidecall::emulators
