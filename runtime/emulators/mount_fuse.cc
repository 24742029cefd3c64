#include "emulators/mount_fuse.h"

#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "emulators/mount_ends.h"

namespace sidecall::emulators {
namespace {

constexpr std::size_t kWhat = 7;

// A detached mount of an image file that the caller may open so.
SysResult<UniqueFd> lend_file(const UniqueFd& file, bool writable, const CallerPath& path,
                              Environment& environment) {
  UniqueFd copy;
  const auto lent =
      environment.actor->as_caller(path.view, [&](kernel::CallerFiles& files) -> SysResult<void> {
        auto made = files.copy_file(file.get(), writable);
        if (!made) return tl::unexpected<Errno>(made.error());
        copy = std::move(*made);
        return {};
      });
  if (!lent) return tl::unexpected<Errno>(lent.error());
  return copy;
}

Outcome mount_source(UniqueFd source, const UniqueFd& place, const kernel::MountArguments& wanted,
                     const CallerPath& path, Environment& environment) {
  Step start;
  start.numbers[0] = wanted.flags;
  start.texts = {*wanted.type, wanted.data.value_or("")};
  start.fds.push_back(std::move(source));
  const auto started = environment.ask_launcher(start);
  if (!started) return started.error();
  if (started->fds.size() != 1) return Errno{EIO};
  return attach_at(place, started->fds[0], 0, path, environment);
}

}  // namespace

Rights fuse_rights() {
  return {.host_capabilities = 1ULL << CAP_SETUID | 1ULL << CAP_SETGID,
          .starts_programs = true,
          .own_users_only = true};
}

Outcome mount_by_program(const kernel::MountArguments& wanted, const CallerPath& path,
                         const DeviceList& devices, const NodeSteps& nodes,
                         Environment& environment) {
  if (!kernel::fuse_flags_are_known(wanted.flags)) return Errno{EINVAL};
  auto ends = find_mount_ends(wanted, path, environment);
  if (!ends) return ends.error();
  // Before a program is started for nothing.
  if (const int number = refusal_of_place(ends->place.get(), 0); number != 0) return Errno{number};
  struct stat about {};
  if (::fstat(ends->source.get(), &about) != 0) return Errno{errno};
  if (S_ISREG(about.st_mode)) {
    auto file = lend_file(ends->source, (wanted.flags & MS_RDONLY) == 0, path, environment);
    if (!file) return file.error();
    return mount_source(std::move(*file), ends->place, wanted, path, environment);
  }
  if (!S_ISBLK(about.st_mode)) return Errno{ENOTBLK};
  if (!devices.allows(S_IFBLK, gnu_dev_major(about.st_rdev), gnu_dev_minor(about.st_rdev))) {
    return Continue{};
  }
  // A node of the sandbox's own: the caller's may be one that its root may not open.
  Step node;
  node.numbers[1] = about.st_rdev;
  node.numbers[kWhat] = nodes.make;
  auto given = environment.ask_helper(node);
  if (!given) return given.error();
  if (given->fds.size() != 1) return Errno{EIO};
  auto mounted = mount_source(std::move(given->fds[0]), ends->place, wanted, path, environment);
  node.numbers[kWhat] = nodes.drop;
  static_cast<void>(environment.ask_helper(node));
  return mounted;
}

SysResult<StepResult> give_node(dev_t device, kernel::HostActions& host) {
  auto node = host.loose_node(S_IFBLK | 0600, device, {.user = 0, .group = 0, .umask = 0});
  if (!node) return tl::unexpected<Errno>(node.error());
  StepResult result;
  result.fds.push_back(std::move(*node));
  return result;
}

SysResult<StepResult> start_program(const std::vector<std::string>& command, const Step& step,
                                    kernel::FusePrograms& programs) {
  auto mount = programs.start({.command = command,
                               .options = step.texts[1],
                               .flags = step.numbers[0],
                               .source = step.fds[0].get()});
  if (!mount) return tl::unexpected<Errno>(mount.error());
  StepResult result;
  result.fds.push_back(std::move(*mount));
  return result;
}

}  // namespace sidecall::emulators
