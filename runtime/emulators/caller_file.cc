#include "emulators/caller_file.h"

#include <limits.h>

#include <string>

namespace sidecall::emulators {

SysResult<CallerFile> CallerFile::find(kernel::Target& target, const FileName& name,
                                       kernel::Credentials credentials) {
  std::string text;
  SysResult<UniqueFd> file;
  if (!name.path_address) {
    file = target.open_descriptor(name.descriptor);
  } else {
    auto copied = target.read_string(*name.path_address, PATH_MAX);
    if (!copied) return tl::unexpected<Errno>(copied.error());
    text = std::move(*copied);
    if (text.empty()) {
      if (!name.empty_path) return sys_failure(ENOENT);
      file = name.descriptor == AT_FDCWD ? target.working_directory()
                                         : target.descriptor(name.descriptor);
    }
  }
  if (!file) return tl::unexpected<Errno>(file.error());
  if (auto own = own_link(target, text, credentials);
      own && own->ends && own->rest.empty() && name.follow) {
    file = std::move(own->file);
    text.clear();
  }
  // The view of a file that is open already starts nowhere in particular.
  auto path =
      caller_path(target, text.empty() ? "/" : std::move(text), name.descriptor,
                  std::move(credentials), name.follow ? OwnLinks::kFollow : OwnLinks::kNotAtEnd);
  if (!path) return tl::unexpected<Errno>(path.error());
  return CallerFile(std::move(*path), std::move(*file), name.follow ? 0 : O_NOFOLLOW);
}

SysResult<void> CallerFile::as_caller(kernel::Actor& actor, Act act) {
  return actor.as_caller(path_.view, [&](kernel::CallerFiles& files) -> SysResult<void> {
    if (!file_) {
      auto opened = files.open_path(path_.text, flags_);
      if (!opened) return tl::unexpected<Errno>(opened.error());
      file_ = std::move(*opened);
    }
    return act(files, file_.get());
  });
}

}  // namespace sidecall::emulators
