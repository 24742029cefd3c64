#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "grid/case.h"
#include "grid/run_cases.h"

namespace sidecall::grid {
namespace {

std::string error_name(int error) {
  const char* const name = ::strerrorname_np(error);
  return name != nullptr ? name : "errno " + std::to_string(error);
}

std::string outcome(long result, int error) {
  return result == -1 ? error_name(error) : std::to_string(result);
}

}  // namespace

void Checks::succeeds(std::string_view what, long result) const {
  const int error = errno;
  if (result >= 0) return;
  say(kFailedRecord, std::string(what) + ": " + error_name(error) + " instead of success");
}

void Checks::gives(std::string_view what, long result, long wanted) const {
  const int error = errno;
  if (result == wanted) return;
  say(kFailedRecord,
      std::string(what) + ": " + outcome(result, error) + " instead of " + std::to_string(wanted));
}

void Checks::fails(std::string_view what, long result, int error) const {
  const int got = errno;
  if (result == -1 && got == error) return;
  say(kFailedRecord, std::string(what) + ": " + (result >= 0 ? "success" : error_name(got)) +
                         " instead of " + error_name(error));
}

void Checks::holds(std::string_view what, bool held) const {
  if (!held) say(kFailedRecord, std::string(what) + ": is not so");
}

void Checks::arrange(std::string_view what, bool done) const {
  const int error = errno;
  if (done) return;
  say(kBrokenRecord, std::string(what) + " could not be arranged: " + error_name(error));
  ::_exit(0);
}

void Checks::skip(std::string_view why) const {
  say(kSkippedRecord, why);
  ::_exit(0);
}

std::string Checks::path(std::string_view name) const {
  return scratch_ + "/" + std::string(name);
}

void Checks::say(char kind, std::string_view text) const {
  // One write, so that threads and processes do not mix their lines.
  const std::string line = kind + std::string(text) + "\n";
  static_cast<void>(!::write(record_, line.data(), line.size()));
}

}  // namespace sidecall::grid
