#include "worker/remote_answer.h"

#include <fcntl.h>

#include "emulators/caller_path.h"

namespace sidecall::worker {
namespace {

namespace remote = emulators::remote;
using emulators::Outcome;
using emulators::Verdict;

// What a plugin may ask for: nothing that changes how others use the file.
constexpr int kOpenFlags = O_ACCMODE | O_APPEND | O_CLOEXEC | O_CREAT | O_DIRECTORY | O_EXCL |
                           O_NOFOLLOW | O_NONBLOCK | O_PATH | O_TRUNC;
constexpr mode_t kOpenMode = 07777;

SysResult<UniqueFd> open_in_view(kernel::Target& target, kernel::Actor& actor,
                                 const remote::OpenFile& wanted) {
  const auto flags = static_cast<int>(wanted.flags);
  if ((flags & ~kOpenFlags) != 0 || (wanted.mode & ~kOpenMode) != 0) return sys_failure(EINVAL);
  auto credentials = target.credentials();
  if (!credentials) return tl::unexpected<Errno>(credentials.error());
  const auto is_ours = target.in_sandbox_user_namespace();
  if (!is_ours) return tl::unexpected<Errno>(is_ours.error());
  // Those of a namespace further inside are none here.
  if (!*is_ours) credentials->effective_capabilities = 0;
  const auto path = emulators::caller_path(target, wanted.path, AT_FDCWD, std::move(*credentials),
                                           emulators::OwnLinks::kWalk);
  if (!path) return tl::unexpected<Errno>(path.error());
  UniqueFd opened;
  const auto acted =
      actor.as_caller(path->view, [&](kernel::CallerFiles& files) -> SysResult<void> {
        auto file = files.open_file(path->text, flags, wanted.mode);
        if (!file) return tl::unexpected<Errno>(file.error());
        opened = std::move(*file);
        return {};
      });
  if (!acted) return tl::unexpected<Errno>(acted.error());
  return opened;
}

}  // namespace

bool is_sealed_memory(int file) {
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  const int seals = ::fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

SysResult<UniqueFd> open_to_read(int proc, int file) {
  const std::string name = "thread-self/fd/" + std::to_string(file);
  UniqueFd opened(::openat(proc, name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return sys_failure(errno);
  return opened;
}

Outcome outcome_of(kernel::Target& target, const emulators::Remote& rule,
                   std::span<const Room> rooms, const remote::Answer& answer, UniqueFd file) {
  if (auto written = write_results(target, rooms, answer.writes); !written) {
    return Verdict(written.error());
  }
  if (const auto* value = std::get_if<emulators::Value>(&answer.given)) return Verdict(*value);
  if (const auto* number = std::get_if<Errno>(&answer.given)) return Verdict(*number);
  if (const auto* sealed = std::get_if<remote::File>(&answer.given)) {
    return Verdict(emulators::Fd{.fd = std::move(file), .cloexec = sealed->cloexec});
  }
  const bool continues = std::holds_alternative<emulators::Continue>(answer.given);
  if (continues && rule.may_continue) return Verdict(emulators::Continue{});
  return Verdict(Errno{rule.errno_value});
}

Outcome open_as_caller(kernel::Target& target, kernel::Actor& actor, std::span<const Room> rooms,
                       const remote::Answer& answer) {
  const auto* const wanted = std::get_if<remote::OpenFile>(&answer.given);
  if (wanted == nullptr) return failure("an answer that opens no file");
  auto opened = open_in_view(target, actor, *wanted);
  if (!opened) return Verdict(opened.error());
  if (auto written = write_results(target, rooms, answer.writes); !written) {
    return Verdict(written.error());
  }
  return Verdict(
      emulators::Fd{.fd = std::move(*opened), .cloexec = (wanted->flags & O_CLOEXEC) != 0});
}

}  // namespace sidecall::worker
