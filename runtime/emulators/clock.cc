// Why: ntpd, chronyd, hwclock and date -s in an image that was a machine once; the clock is the
// host's, and some of them end where they cannot set it.
//
// Why it is safe: nothing is set, unless the policy says "perform". Only then is there a helper,
// which holds CAP_SYS_TIME on the host, and only for callers that hold it in the sandbox's user
// namespace.
#include "emulators/clock.h"

#include <linux/capability.h>

#include <array>
#include <span>

#include "emulators/clock_rules.h"
#include "emulators/clock_step.h"
#include "emulators/mode.h"
#include "emulators/timex32.h"

namespace sidecall::emulators {
namespace {

// Indices into the row's members.
enum : unsigned {
  kClockSettime,
  kSettimeofday,
  kAdjtimex,
  kClockAdjtime,
  kClockSettime64,
  kClockAdjtime64,
  kStime,
};

// struct old_timespec32 and old_timeval32 of the kernel.
struct Time32 {
  std::int32_t seconds;
  std::int32_t fraction;
};

template <typename T>
SysResult<void> copy_in(kernel::Target& target, std::uint64_t address, T& into) {
  return target.read(address, std::as_writable_bytes(std::span(&into, 1)));
}
template <typename T>
SysResult<void> copy_out(kernel::Target& target, std::uint64_t address, const T& from) {
  return target.write(address, std::as_bytes(std::span(&from, 1)));
}

// A struct timespec or timeval of the caller's; `tv_nsec` has what the fraction is called there.
SysResult<timespec> copy_time(kernel::Target& target, std::uint64_t address, bool is_narrow) {
  timespec time{};
  if (!is_narrow) return copy_in(target, address, time).map([&] { return time; });
  Time32 narrow{};
  return copy_in(target, address, narrow).map([&] {
    return timespec{.tv_sec = narrow.seconds, .tv_nsec = narrow.fraction};
  });
}

// Whether the kernel would let the caller set the clock if its user namespace were the host's.
SysResult<bool> may_set_clock(kernel::Target& target) {
  const auto credentials = target.credentials();
  if (!credentials) return tl::unexpected<Errno>(credentials.error());
  if (!credentials->has_capability(CAP_SYS_TIME)) return false;
  return target.in_sandbox_user_namespace();
}

bool is_realtime(const Call& call) {
  return static_cast<clockid_t>(call.args[0]) == CLOCK_REALTIME;
}

class ClockEmulator final : public Emulator {
 public:
  explicit ClockEmulator(ModeOptions options) : options_(options) {}

  Outcome emulate(const Call& call, Environment& environment) const override {
    switch (call.member) {
      case kClockSettime:
      case kClockSettime64:
        return is_realtime(call) ? clock_settime(call, environment) : Continue{};
      case kClockAdjtime:
      case kClockAdjtime64:
        return is_realtime(call) ? adjust(call, call.args[1], environment) : Continue{};
      case kAdjtimex:
        return adjust(call, call.args[0], environment);
      case kSettimeofday:
        return settimeofday(call, environment);
      default:
        return stime(call, environment);
    }
  }

  SysResult<StepResult> perform(const Step& step, kernel::HostActions& host) const override {
    if (!performs()) return sys_failure(EPERM);
    return perform_clock_step(step, host);
  }

  StepWords describe(const Step& step) const override { return describe_clock_step(step); }

  Rights further_rights() const override {
    if (!performs()) return {};
    return {.needs = Needs::kFiles,  // where helpers are at hand
            .capabilities = kernel::actor_capabilities(),
            .host_capabilities = 1ULL << CAP_SYS_TIME};
  }

 private:
  [[nodiscard]] bool performs() const { return options_.mode == Mode::kPerform; }
  // What has been done for an answer that a signal took is answered once more, and not done: an
  // offset would come on top of the first, and a time that was right then is late by now.
  [[nodiscard]] bool acts(const Environment& environment) const {
    return performs() && !environment.made_before;
  }

  Outcome clock_settime(const Call& call, Environment& environment) const {
    if (options_.mode == Mode::kErrno) return options_.error;
    const bool is_32_bit = kernel::is_32_bit(call.abi);
    auto time =
        copy_time(environment.target, call.args[1], is_32_bit && call.member == kClockSettime);
    if (!time) return time.error();
    // The upper half of a 32-bit caller's nanoseconds is padding (get_timespec64).
    if (is_32_bit && call.member == kClockSettime64) time->tv_nsec &= 0xffffffff;
    return set(&*time, nullptr, environment);
  }

  Outcome settimeofday(const Call& call, Environment& environment) const {
    if (options_.mode == Mode::kErrno) return options_.error;
    kernel::Target& target = environment.target;
    const auto [time_address, zone_address] = std::pair(call.args[0], call.args[1]);
    SysResult<timespec> time = timespec{};
    if (time_address != 0) {
      time = copy_time(target, time_address, kernel::is_32_bit(call.abi));
      if (!time) return time.error();
      // Before the zone is looked at, as the rest of the time is not.
      constexpr long kMicroseconds = 1'000'000;
      if (time->tv_nsec >= kMicroseconds || time->tv_nsec < 0) return Errno{EINVAL};
      time->tv_nsec *= 1000;
    }
    struct timezone zone {};
    if (zone_address != 0) {
      if (const auto copied = copy_in(target, zone_address, zone); !copied) return copied.error();
    }
    return set(time_address != 0 ? &*time : nullptr, zone_address != 0 ? &zone : nullptr,
               environment);
  }

  Outcome stime(const Call& call, Environment& environment) const {
    if (options_.mode == Mode::kErrno) return options_.error;
    std::int32_t seconds = 0;
    const auto copied = copy_in(environment.target, call.args[0], seconds);
    if (!copied) return copied.error();
    const auto may = may_set_clock(environment.target);
    if (!may) return may.error();
    if (!*may) return Continue{};
    // Whatever the time: the kernel does not tell whether it could be set.
    const timespec time{.tv_sec = seconds, .tv_nsec = 0};
    if (acts(environment)) static_cast<void>(set_clock(&time, nullptr, environment));
    return Value{0};
  }

  // do_sys_settimeofday64() of the kernel. Null: not given.
  Outcome set(const timespec* time, const struct timezone* zone, Environment& environment) const {
    if (time != nullptr && !is_settable(*time)) return Errno{EINVAL};
    const auto may = may_set_clock(environment.target);
    if (!may) return may.error();
    if (!*may) return Continue{};
    if (zone != nullptr && !is_valid(*zone)) return Errno{EINVAL};
    if (time != nullptr && is_before_start(*time, read_clocks())) return Errno{EINVAL};
    if (acts(environment)) {
      if (const auto set = set_clock(time, zone, environment); !set) return set.error();
    }
    return Value{0};
  }

  // adjtimex(2) and clock_adjtime(2).
  Outcome adjust(const Call& call, std::uint64_t address, Environment& environment) const {
    kernel::Target& target = environment.target;
    const bool is_narrow = kernel::is_32_bit(call.abi) && call.member != kClockAdjtime64;
    // Changed in place, so that padding goes back as it came, as the kernel's does.
    timex state{};
    Timex32 narrow_state{};
    const auto copied =
        is_narrow ? copy_in(target, address, narrow_state) : copy_in(target, address, state);
    if (!copied) return copied.error();
    if (is_narrow) state = widen(narrow_state);
    const auto copy_back = [&] {
      return is_narrow ? copy_out(target, address, narrow(state))
                       : copy_out(target, address, state);
    };

    if (!needs_privilege(state.modes)) return Continue{};
    if (options_.mode == Mode::kErrno) return options_.error;
    const auto may = may_set_clock(target);
    if (!may) return may.error();
    if (!*may) return Continue{};
    const SysResult<int> clock_state = adjusted(state, environment);
    // adjtimex(2) writes back also what it refuses, and fails with EFAULT where it cannot.
    if (clock_state || call.member == kAdjtimex) {
      if (const auto written = copy_back(); !written) return written.error();
    }
    if (!clock_state) return clock_state.error();
    return Value{*clock_state};
  }

  // What the caller wants is checked, and then done or left out. Gives the clock's state.
  SysResult<int> adjusted(timex& state, Environment& environment) const {
    if (!is_valid(state, read_clocks())) return sys_failure(EINVAL);
    if (acts(environment)) return adjust_clock(state, environment);
    const std::uint32_t modes = state.modes;
    state.modes = read_only(modes);
    const int clock_state = ::adjtimex(&state);
    if (clock_state < 0) return sys_failure(errno);
    state.modes = modes;
    return clock_state;
  }

  ModeOptions options_;
};

Result<ModeOptions> read(const Options& options) {
  return read_mode(options, {Mode::kPretend, Mode::kErrno, Mode::kPerform});
}

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  const auto mode = read(options);
  if (!mode) return tl::unexpected<Error>(mode.error());
  return std::make_unique<ClockEmulator>(*mode);
}

// Whether adjtimex(2) and clock_adjtime(2) set anything is in memory, which no filter reads.
std::optional<FixedAnswer> fixed(const Options& options, std::size_t member) {
  const bool in_memory =
      member == kAdjtimex || member == kClockAdjtime || member == kClockAdjtime64;
  const auto mode = read(options);
  if (!mode || mode->mode != Mode::kErrno || in_memory) return std::nullopt;
  return fixed_answer(*mode);
}

}  // namespace

Row clock_row() {
  // Other clocks than CLOCK_REALTIME stay the kernel's, which takes the number as 32 bits.
  static const std::array<Conditions, 1> kRealtime = {
      Conditions{{0, Compare::kMaskedEqual, 0xffffffff, CLOCK_REALTIME}}};
  // The last three are calls of i386 only.
  static const std::array<Member, 7> kMembers = {Member{"clock_settime", kRealtime},
                                                 Member{"settimeofday", {}},
                                                 Member{"adjtimex", {}},
                                                 Member{"clock_adjtime", kRealtime},
                                                 Member{"clock_settime64", kRealtime},
                                                 Member{"clock_adjtime64", kRealtime},
                                                 Member{"stime", {}}};
  static constexpr std::array<OptionSpec, 2> kOptions = {
      OptionSpec{"mode", OptionType::kString, true,
                 "\"pretend\": success, and the clock stays as it is; \"errno\": an error; "
                 "\"perform\": the host's clock is set"},
      kErrnoOption};
  return Row{
      .name = "clock",
      .members = kMembers,
      .support = Support::kPartial,
      .rights = {.needs = Needs::kMemory,
                 // CAP_DAC_OVERRIDE: /proc/TID/mem belongs to the caller's user, and is nobody
                 // else's to open.
                 .capabilities = 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_OVERRIDE},
      .repeatable = false,  // a second offset is added to the first
      .options = kOptions,
      .summary =
          "lets the clock be set without an effect, fails with a chosen error, or sets the host's",
      .notes =
          "\"pretend\" answers callers with CAP_SYS_TIME in their own namespace, with every error "
          "that the kernel has for them; an adjustment gets the clock's state as it is. \"errno\" "
          "is the filter's answer, to anybody, but for adjtimex and clock_adjtime. Reading the "
          "clock's state, and other clocks than CLOCK_REALTIME, stay with the kernel. \"perform\" "
          "does for the same callers what they ask for, on the clock that the whole machine has, "
          "and keeps CAP_SYS_TIME on the host.",
      .example = R"({"rules": [{"emulate": "clock", "options": {"mode": "pretend"}}]})",
      .make = make,
      .fixed = fixed,
  };
}

}  // namespace sidecall::emulators
