#include "emulators/mount_callers.h"

#include <fcntl.h>
#include <linux/capability.h>

namespace sidecall::emulators {

Result<MountCallers> MountCallers::parse(const Options& options) {
  const auto who = option_or(options, "callers", std::string("capable"));
  if (who != "capable" && who != "root") {
    return failure("callers: \"" + who + "\" is neither \"capable\" nor \"root\"");
  }
  return MountCallers{.root = who == "root"};
}

SysResult<MountRight> mount_right(const MountCallers& callers,
                                  const kernel::Credentials& credentials,
                                  Environment& environment) {
  const auto in_sandbox = environment.target.in_sandbox_user_namespace();
  if (!in_sandbox) return tl::unexpected<Errno>(in_sandbox.error());
  if (!*in_sandbox) return MountRight::kNone;
  if (credentials.has_capability(CAP_SYS_ADMIN)) return MountRight::kOwn;
  return callers.root && credentials.fsuid == 0 ? MountRight::kLent : MountRight::kNone;
}

SysResult<CallerPath> mount_path(kernel::Target& target, std::string text,
                                 kernel::Credentials credentials, MountRight right,
                                 OwnLinks links) {
  auto path = caller_path(target, std::move(text), AT_FDCWD, std::move(credentials), links);
  if (!path) return path;
  // Sources and layers may be relative where the path is not.
  if (!path->view.base) {
    auto base = target.working_directory();
    if (!base) return tl::unexpected<Errno>(base.error());
    path->view.base = std::move(*base);
  }
  auto mounts = target.open_namespace("mnt");
  if (!mounts) return tl::unexpected<Errno>(mounts.error());
  path->view.mount_namespace = std::move(*mounts);
  for (const char* name : {"net", "ipc", "cgroup"}) {
    auto opened = target.open_namespace(name);
    if (!opened) return tl::unexpected<Errno>(opened.error());
    path->view.other_namespaces.push_back(std::move(*opened));
  }
  if (right == MountRight::kLent) path->view.lent = std::uint64_t{1} << CAP_SYS_ADMIN;
  return path;
}

}  // namespace sidecall::emulators
