// Why: audio and control software, databases and container init systems raise the priority of their
// threads, for which the kernel wants CAP_SYS_NICE in the initial user namespace; a container's
// root has it at most in its own.
//
// Why it is safe: a caller must hold CAP_SYS_NICE in the sandbox's user namespace, the thread meant
// must be in it too, and the policy's ceilings hold. What is beyond them is left to the kernel,
// which refuses it, and allows what anybody may do.
#include "emulators/sched.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "emulators/sched_limits.h"

namespace sidecall::emulators {
namespace {

// Indices into the row's members.
enum : unsigned { kSetscheduler, kSetparam, kSetattr, kSetpriority, kIoprioSet };

// What the helper is asked for, in the first of a step's numbers.
enum : std::uint64_t { kPolicy, kParameter, kAttributes, kNice, kIoPriority };

constexpr std::uint32_t kResetOnForkBit = 0x4000'0000;  // SCHED_RESET_ON_FORK
constexpr std::uint64_t kResetOnForkFlag = 1;           // SCHED_FLAG_RESET_ON_FORK
constexpr int kIoprioWhoProcess = 1;

// The first version of struct sched_attr, and one more: sched_setattr(2).
constexpr std::uint32_t kAttributesSize = 48;
constexpr std::uint32_t kAttributesSizeWithUtilisation = 56;

template <typename T>
T field(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::uint64_t as_register(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

// What a call wants: the thread, by its number for the caller, and a step without that thread.
struct Wish {
  int thread = 0;
  Step step;
};

class SchedEmulator final : public Emulator {
 public:
  explicit SchedEmulator(SchedLimits limits) : limits_(limits) {}

  Outcome emulate(const Call& call, Environment& environment) const override {
    auto wish = read_wish(call, environment.target);
    if (!wish) return wish.error();
    if (!*wish) return Continue{};
    kernel::Target& target = environment.target;
    const auto credentials = target.credentials();
    if (!credentials) return credentials.error();
    const auto in_sandbox = target.in_sandbox_user_namespace();
    if (!in_sandbox) return in_sandbox.error();
    if (!credentials->has_capability(CAP_SYS_NICE) || !*in_sandbox) return Continue{};
    const auto thread = target.thread_of((**wish).thread);
    if (!thread) return thread.error().value == ESRCH ? Outcome(Errno{ESRCH}) : Continue{};
    Step& step = (**wish).step;
    step.numbers[1] = static_cast<std::uint64_t>(*thread);
    const auto done = environment.ask_helper(step);
    if (done) return Value{0};
    // Not the sandbox's thread, or beyond the ceilings.
    if (done.error().value == EPERM) return Continue{};
    return done.error();
  }

  StepWords describe(const Step& step) const override {
    static constexpr std::array kWords = {"policy ", "priority ", "schedule ", "nice ",
                                          "I/O priority "};
    const auto& numbers = step.numbers;
    if (numbers[0] >= kWords.size()) return {.what = "schedule"};
    const std::size_t value = numbers[0] == kParameter ? 5 : 2;
    return {.what = kWords[numbers[0]] + std::to_string(static_cast<std::int64_t>(numbers[value])) +
                    " of thread " + std::to_string(numbers[1])};
  }

  SysResult<StepResult> perform(const Step& step, kernel::HostActions& host) const override {
    const auto thread = static_cast<pid_t>(step.numbers[1]);
    const auto done = carry_out(step, thread, host);
    if (!done) return tl::unexpected<Errno>(done.error());
    return StepResult{};
  }

 private:
  // Empty where the kernel is to decide alone.
  static SysResult<std::optional<Wish>> read_wish(const Call& call, kernel::Target& target) {
    switch (call.member) {
      case kSetscheduler:
      case kSetparam:
        return read_parameter(call, target);
      case kSetattr:
        return read_attributes(call, target);
      default:
        return read_priority(call);
    }
  }

  static SysResult<std::optional<Wish>> read_parameter(const Call& call, kernel::Target& target) {
    const bool with_policy = call.member == kSetscheduler;
    Wish wish;
    wish.thread = static_cast<int>(call.args[0]);
    const auto policy = static_cast<std::uint32_t>(call.args[1]);
    const std::uint64_t address = call.args[with_policy ? 2 : 1];
    // EINVAL, says the kernel.
    if (wish.thread < 0 || address == 0) return std::optional<Wish>();
    if (with_policy && static_cast<std::int32_t>(policy) < 0) return std::optional<Wish>();
    std::array<std::byte, sizeof(int)> bytes{};
    if (auto read = target.read(address, bytes); !read) return tl::unexpected<Errno>(read.error());
    const auto priority = field<std::int32_t>(bytes, 0);
    if (priority < 0) return std::optional<Wish>();
    wish.step.numbers = {with_policy ? kPolicy : kParameter,
                         0,
                         policy & ~kResetOnForkBit,
                         (policy & kResetOnForkBit) != 0 ? kResetOnForkFlag : 0,
                         0,
                         as_register(priority)};
    return std::optional<Wish>(std::move(wish));
  }

  static SysResult<std::optional<Wish>> read_attributes(const Call& call, kernel::Target& target) {
    Wish wish;
    wish.thread = static_cast<int>(call.args[0]);
    const std::uint64_t address = call.args[1];
    if (wish.thread < 0 || address == 0 || static_cast<std::uint32_t>(call.args[2]) != 0) {
      return std::optional<Wish>();
    }
    std::array<std::byte, kAttributesSize> bytes{};
    if (auto read = target.read(address, bytes); !read) return tl::unexpected<Errno>(read.error());
    const auto size = field<std::uint32_t>(bytes, 0);
    const auto flags = field<std::uint64_t>(bytes, 8);
    // Other sizes and flags are for what is not served here.
    if ((size != 0 && size != kAttributesSize && size != kAttributesSizeWithUtilisation) ||
        (flags & ~kResetOnForkFlag) != 0) {
      return std::optional<Wish>();
    }
    if (size == kAttributesSizeWithUtilisation) {
      // Clamps that no flag switches on; the kernel copies them all the same.
      std::array<std::byte, kAttributesSizeWithUtilisation - kAttributesSize> rest{};
      if (auto read = target.read(address + kAttributesSize, rest); !read) {
        return tl::unexpected<Errno>(read.error());
      }
    }
    wish.step.numbers = {kAttributes,
                         0,
                         field<std::uint32_t>(bytes, 4),
                         flags,
                         as_register(field<std::int32_t>(bytes, 16)),
                         field<std::uint32_t>(bytes, 20)};
    return std::optional<Wish>(std::move(wish));
  }

  static SysResult<std::optional<Wish>> read_priority(const Call& call) {
    Wish wish;
    wish.thread = static_cast<int>(call.args[1]);
    const auto which = static_cast<int>(call.args[0]);
    const auto value = static_cast<int>(call.args[2]);
    const bool nice = call.member == kSetpriority;
    // Groups of processes are the kernel's business.
    if (which != (nice ? PRIO_PROCESS : kIoprioWhoProcess) || wish.thread < 0) {
      return std::optional<Wish>();
    }
    // The kernel takes any number and brings it into range.
    const int wanted = nice ? std::clamp(value, -20, 19) : value;
    wish.step.numbers = {nice ? kNice : kIoPriority, 0, as_register(wanted)};
    return std::optional<Wish>(std::move(wish));
  }

  SysResult<void> carry_out(const Step& step, pid_t thread, kernel::HostActions& host) const {
    const auto& numbers = step.numbers;
    switch (numbers[0]) {
      case kNice: {
        const auto nice = static_cast<int>(static_cast<std::int64_t>(numbers[2]));
        if (!limits_.allow_nice(nice)) return sys_failure(EPERM);
        return host.set_nice(thread, nice);
      }
      case kIoPriority: {
        const auto priority = static_cast<int>(static_cast<std::int64_t>(numbers[2]));
        if (!limits_.allow_io(priority)) return sys_failure(EPERM);
        return host.set_io_priority(thread, priority);
      }
      case kPolicy:
      case kParameter:
      case kAttributes:
        return set_schedule(step, thread, host);
      default:
        return sys_failure(EINVAL);
    }
  }

  SysResult<void> set_schedule(const Step& step, pid_t thread, kernel::HostActions& host) const {
    const auto current = host.schedule(thread);
    if (!current) return tl::unexpected<Errno>(current.error());
    kernel::Schedule wanted = *current;
    if (step.numbers[0] != kParameter) {
      wanted.policy = static_cast<std::uint32_t>(step.numbers[2]);
      wanted.reset_on_fork = step.numbers[3] != 0;
    }
    if (step.numbers[0] == kAttributes) {
      wanted.nice = static_cast<std::int32_t>(static_cast<std::int64_t>(step.numbers[4]));
    }
    wanted.priority = static_cast<std::uint32_t>(step.numbers[5]);
    if (!limits_.allow(wanted, *current)) return sys_failure(EPERM);
    return host.set_schedule(thread, wanted);
  }

  SchedLimits limits_;
};

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  const auto limits = SchedLimits::parse(options);
  if (!limits) return tl::unexpected<Error>(limits.error());
  return std::make_unique<SchedEmulator>(*limits);
}

Conditions of_one_process(std::uint64_t which) {
  return {{0, Compare::kMaskedEqual, 0xffff'ffffU, which}};
}

}  // namespace

Row sched_row() {
  static const std::array<Conditions, 1> kProcess = {of_one_process(PRIO_PROCESS)};
  static const std::array<Conditions, 1> kIoProcess = {of_one_process(kIoprioWhoProcess)};
  static const std::array<emulators::Member, 5> kMembers = {
      emulators::Member{"sched_setscheduler", {}}, emulators::Member{"sched_setparam", {}},
      emulators::Member{"sched_setattr", {}}, emulators::Member{"setpriority", kProcess},
      emulators::Member{"ioprio_set", kIoProcess}};
  static constexpr std::array<OptionSpec, 4> kOptions = {
      OptionSpec{"policies", OptionType::kStringList, false,
                 "real-time policies that may be set: \"fifo\", \"rr\"; default: none"},
      OptionSpec{"max_priority", OptionType::kInteger, false,
                 "the highest real-time priority, 1 to 99; default: 1"},
      OptionSpec{"min_nice", OptionType::kInteger, false,
                 "the lowest nice value, -20 to 19; default: 0"},
      OptionSpec{"realtime_io", OptionType::kBool, false,
                 "the real-time class of ioprio_set may be set; default: false"}};
  return Row{
      .name = "sched",
      .members = kMembers,
      .support = Support::kPartial,
      .rights = {.needs = Needs::kFiles,
                 .capabilities = kernel::actor_capabilities(),
                 .host_capabilities = 1ULL << CAP_SYS_NICE | 1ULL << CAP_SYS_PTRACE},
      .repeatable = true,
      .options = kOptions,
      .summary = "raises the sandbox's own threads, up to the policy's ceilings",
      .notes =
          "SCHED_DEADLINE, whole process groups and users, and utilisation clamps are left to the "
          "kernel. Before Linux 6.11 a caller can name only itself.",
      .example =
          R"({"rules": [{"emulate": "sched", "options": {"policies": ["fifo", "rr"], "max_priority": 20, "min_nice": -10}}]})",
      .make = make,
  };
}

}  // namespace sidecall::emulators
