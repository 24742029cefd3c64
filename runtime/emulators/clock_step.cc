#include "emulators/clock_step.h"

#include <cstring>
#include <optional>
#include <string_view>

namespace sidecall::emulators {
namespace {

// A step's numbers. An adjustment is its first text.
enum : std::size_t { kWhat, kHasTime, kSeconds, kNanoseconds, kHasZone, kMinutesWest, kDstTime };
enum : std::uint64_t { kSet, kAdjust };

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <typename T>
std::optional<T> value_of(std::string_view bytes) {
  T value{};
  if (bytes.size() != sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

SysResult<StepResult> set(const Step& step, kernel::HostActions& host) {
  std::optional<timespec> time;
  std::optional<struct timezone> zone;
  if (step.numbers[kHasTime] != 0) {
    time = timespec{.tv_sec = static_cast<time_t>(step.numbers[kSeconds]),
                    .tv_nsec = static_cast<long>(step.numbers[kNanoseconds])};
  }
  if (step.numbers[kHasZone] != 0) {
    zone = {.tz_minuteswest = static_cast<int>(step.numbers[kMinutesWest]),
            .tz_dsttime = static_cast<int>(step.numbers[kDstTime])};
  }
  const auto done = host.set_clock(time, zone);
  if (!done) return tl::unexpected<Errno>(done.error());
  return StepResult{};
}

SysResult<StepResult> adjust(const Step& step, kernel::HostActions& host) {
  auto adjustment = step.texts.size() == 1 ? value_of<timex>(step.texts[0]) : std::nullopt;
  if (!adjustment) return sys_failure(EINVAL);
  const auto state = host.adjust_clock(*adjustment);
  if (!state) return tl::unexpected<Errno>(state.error());
  return StepResult{.value = *state, .bytes = bytes_of(*adjustment)};
}

}  // namespace

SysResult<void> set_clock(const timespec* time, const struct timezone* zone,
                          Environment& environment) {
  Step step;
  step.numbers[kWhat] = kSet;
  if (time != nullptr) {
    step.numbers[kHasTime] = 1;
    step.numbers[kSeconds] = static_cast<std::uint64_t>(time->tv_sec);
    step.numbers[kNanoseconds] = static_cast<std::uint64_t>(time->tv_nsec);
  }
  if (zone != nullptr) {
    step.numbers[kHasZone] = 1;
    step.numbers[kMinutesWest] = static_cast<std::uint64_t>(zone->tz_minuteswest);
    step.numbers[kDstTime] = static_cast<std::uint64_t>(zone->tz_dsttime);
  }
  const auto performed = environment.ask_helper(step);
  if (!performed) return tl::unexpected<Errno>(performed.error());
  return {};
}

SysResult<int> adjust_clock(timex& adjustment, Environment& environment) {
  Step step;
  step.numbers[kWhat] = kAdjust;
  step.texts.push_back(bytes_of(adjustment));
  const auto performed = environment.ask_helper(step);
  if (!performed) return tl::unexpected<Errno>(performed.error());
  const auto filled = value_of<timex>(performed->bytes);
  if (!filled) return sys_failure(EIO);
  adjustment = *filled;
  return static_cast<int>(performed->value);
}

SysResult<StepResult> perform_clock_step(const Step& step, kernel::HostActions& host) {
  switch (step.numbers[kWhat]) {
    case kSet:
      return set(step, host);
    case kAdjust:
      return adjust(step, host);
    default:
      return sys_failure(EINVAL);
  }
}

StepWords describe_clock_step(const Step& step) {
  if (step.numbers[kWhat] == kAdjust) return {.what = "adjustment of the clock"};
  if (step.numbers[kHasTime] == 0) return {.what = "time zone"};
  return {.what = "clock to " + std::to_string(static_cast<std::int64_t>(step.numbers[kSeconds])) +
                  " s"};
}

}  // namespace sidecall::emulators
