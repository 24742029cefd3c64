#include "worker/event_log.h"

#include <ctime>
#include <string>

#include "kernel/own_path.h"

namespace sidecall::worker {
namespace {

// The rest of a record is the path's.
constexpr std::size_t kMostWhat = 96;
constexpr std::string_view kCut = "...";

std::uint64_t unix_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

void EventLog::push(EventRecord& record) const {
  record.unix_ns = unix_ns();
  if (statistics_.events().push(record) == EventRing::Pushed::kHalfFull) hurry_();
}

void EventLog::call(std::uint32_t route, pid_t tid, emulators::VerdictKind kind,
                    std::int64_t number) const {
  EventRecord record{.route = route, .tid = tid, .verdict = kind, .number = number};
  push(record);
}

void EventLog::privileged(std::uint32_t route, pid_t tid, uid_t user, std::string_view what,
                          int errno_value) const {
  EventRecord record{
      .kind = EventRecord::Kind::kPrivileged,
      .route = route,
      .tid = tid,
      .user = user,
      .verdict = errno_value != 0 ? emulators::VerdictKind::kErrno : emulators::VerdictKind::kValue,
      .number = errno_value};
  record.set_text(what);
  push(record);
}

std::string EventLog::text_of(const emulators::StepWords& words,
                              const emulators::Step& step) const {
  std::string text = words.what.substr(0, kMostWhat);
  std::string path = words.name;
  if (!step.fds.empty() && proc_ >= 0) {
    const auto name = kernel::own_name(proc_, step.fds[0].get());
    if (name && name->starts_with('/')) path = *name + (path.empty() ? "" : "/" + path);
  }
  if (path.empty()) return text;
  text += " at ";
  // Of a long path its end says more.
  const std::size_t room = EventRecord::kMostText - text.size();
  if (path.size() > room) path.replace(0, path.size() - room + kCut.size(), kCut);
  return text + path;
}

SysResult<emulators::StepResult> WatchedHelper::perform(std::uint32_t instance,
                                                        const emulators::Step& step) {
  const auto words = caller_.emulator.describe(step);
  if (words.what.empty()) return helper_.perform(instance, step);
  // Before the step: after it the caller may be gone.
  const std::string what = log_.text_of(words, step);
  const auto credentials = caller_.target.credentials();
  auto result = helper_.perform(instance, step);
  log_.privileged(caller_.route, caller_.tid,
                  credentials ? credentials->fsuid : EventRecord::kNoUser, what,
                  result ? 0 : result.error().value);
  return result;
}

}  // namespace sidecall::worker
