// Why: archives and packages name owners that a container with a small id range has not, and tar,
// rpm and dpkg give up on the EINVAL that the kernel gives there, or on the EPERM that a caller
// without CAP_CHOWN gets: "pretend". And a tree that was unpacked outside belongs to ids that the
// container has not, which its root cannot take over: "perform".
//
// Why it is safe: pretending does nothing, for anybody. What is performed is first tried as the
// caller; only where the kernel says EPERM to one that holds CAP_CHOWN in the sandbox's user
// namespace does the helper change the owner of the very file that was found, to ids of the
// sandbox. The mount that it was found by decides whether it may be written to. Whatever the
// container can reach by a writable mount it can so make its own: that is what is asked for.
#include "emulators/chown.h"

#include <fcntl.h>
#include <linux/capability.h>

#include <array>

#include "emulators/caller_file.h"
#include "emulators/mode.h"

namespace sidecall::emulators {
namespace {

// Indices into the row's members. Of i386 the first three take ids of 16 bits.
enum : unsigned { kChown, kLchown, kFchown, kFchownat, kChown32, kLchown32, kFchown32 };

constexpr std::uint32_t kStays = ~0U;

struct Wanted {
  FileName file;
  uid_t user = kStays;
  gid_t group = kStays;
};

// low2highuid() of the kernel: -1 of 16 bits is -1.
std::uint32_t widen(std::uint64_t id) {
  const auto narrow = static_cast<std::uint16_t>(id);
  return narrow == UINT16_MAX ? kStays : narrow;
}

// EINVAL for flags of fchownat(2) that there are not.
SysResult<Wanted> decode(const Call& call) {
  const bool at = call.member == kFchownat;
  Wanted wanted;
  if (at) {
    const auto flags = static_cast<unsigned>(call.args[4]);
    if ((flags & ~unsigned{AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH}) != 0) return sys_failure(EINVAL);
    wanted.file = {.path_address = call.args[1],
                   .descriptor = static_cast<int>(call.args[0]),
                   .follow = (flags & AT_SYMLINK_NOFOLLOW) == 0,
                   .empty_path = (flags & AT_EMPTY_PATH) != 0};
  } else if (call.member == kFchown || call.member == kFchown32) {
    wanted.file.descriptor = static_cast<int>(call.args[0]);
  } else {
    wanted.file.path_address = call.args[0];
    wanted.file.follow = call.member != kLchown && call.member != kLchown32;
  }
  const bool is_narrow = kernel::is_32_bit(call.abi) && call.member < kFchownat;
  const auto id = [&](std::size_t index) {
    return is_narrow ? widen(call.args[index]) : static_cast<std::uint32_t>(call.args[index]);
  };
  wanted.user = id(at ? 2 : 1);
  wanted.group = id(at ? 3 : 2);
  return wanted;
}

class ChownEmulator final : public Emulator {
 public:
  Outcome emulate(const Call& call, Environment& environment) const override {
    // In the host's own user namespace the kernel has refused nothing that may be allowed here.
    if (!environment.sandbox.has_own_user_namespace()) return Continue{};
    const auto wanted = decode(call);
    if (!wanted) return wanted.error();
    auto credentials = environment.target.credentials();
    if (!credentials) return credentials.error();
    const auto in_sandbox = environment.target.in_sandbox_user_namespace();
    if (!in_sandbox) return in_sandbox.error();
    if (!credentials->has_capability(CAP_CHOWN) || !*in_sandbox) return Continue{};

    auto file = CallerFile::find(environment.target, wanted->file, std::move(*credentials));
    if (!file) return file.error();
    const auto changed =
        file->as_caller(*environment.actor, [&](kernel::CallerFiles& files, int fd) {
          return files.change_owner(fd, wanted->user, wanted->group);
        });
    if (changed) return Value{0};
    if (changed.error().value != EPERM || !file->is_resolved()) return changed.error();

    Step step;
    step.numbers = {wanted->user, wanted->group, file->credentials().effective_capabilities,
                    file->credentials().fsgid};
    step.fds.push_back(file->take());
    const auto performed = environment.ask_helper(step);
    if (!performed) return performed.error();
    return Value{0};
  }

  SysResult<StepResult> perform(const Step& step, kernel::HostActions& host) const override {
    if (step.fds.size() != 1) return sys_failure(EINVAL);
    const auto id = [&](std::size_t index) -> std::optional<std::uint32_t> {
      const auto number = static_cast<std::uint32_t>(step.numbers[index]);
      if (number == kStays) return std::nullopt;
      return number;
    };
    const auto changed =
        host.change_owner(step.fds[0].get(), {.user = id(0),
                                              .group = id(1),
                                              .capabilities = step.numbers[2],
                                              .caller_group = static_cast<gid_t>(step.numbers[3])});
    if (!changed) return tl::unexpected<Errno>(changed.error());
    return StepResult{};
  }

  StepWords describe(const Step& step) const override {
    const auto id = [&](std::size_t index) {
      const auto number = static_cast<std::uint32_t>(step.numbers[index]);
      return number == kStays ? "-" : std::to_string(number);
    };
    return {.what = "owner " + id(0) + ":" + id(1)};
  }

  Rights further_rights() const override {
    return {.needs = Needs::kFiles,
            .capabilities = kernel::actor_capabilities(),
            .host_capabilities =
                1ULL << CAP_CHOWN | 1ULL << CAP_FOWNER | 1ULL << CAP_FSETID | 1ULL << CAP_SETGID,
            .own_users_only = true};
  }
};

Result<ModeOptions> read(const Options& options) {
  return read_mode(options, {Mode::kPretend, Mode::kPerform});
}

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  const auto mode = read(options);
  if (mode && mode->mode == Mode::kPerform) return std::make_unique<ChownEmulator>();
  return make_fixed(mode);
}

std::optional<FixedAnswer> fixed(const Options& options, std::size_t) {
  const auto mode = read(options);
  if (!mode || mode->mode == Mode::kPerform) return std::nullopt;
  return fixed_answer(*mode);
}

}  // namespace

Row chown_row() {
  static constexpr std::array<Member, 7> kMembers = {
      Member{"chown", {}},   Member{"lchown", {}},   Member{"fchown", {}},  Member{"fchownat", {}},
      Member{"chown32", {}}, Member{"lchown32", {}}, Member{"fchown32", {}}};
  static constexpr std::array<OptionSpec, 1> kOptions = {
      OptionSpec{"mode", OptionType::kString, true,
                 "\"pretend\": success, and no owner changes; \"perform\": files of owners that "
                 "the sandbox has not can be taken over"}};
  return Row{
      .name = "chown",
      .members = kMembers,
      .support = Support::kPartial,
      .rights = {.needs = Needs::kRegisters},
      .options = kOptions,
      .summary = "lets changes of owner succeed without making them, or makes more of them",
      .notes =
          "\"pretend\" is the filter's answer, at no cost: neither the path nor the descriptor is "
          "looked at, so that also what does not exist gives success. stat(2) shows the owner as "
          "it "
          "was, and the set-user-ID and set-group-ID bits, which a real change clears, stay. "
          "\"perform\" notifies every change of owner and keeps CAP_CHOWN, CAP_FOWNER, CAP_FSETID "
          "and CAP_SETGID on the host: root of the sandbox can take over any file that it reaches "
          "by a writable mount.",
      .example = R"({"rules": [{"emulate": "chown", "options": {"mode": "pretend"}}]})",
      .make = make,
      .fixed = fixed,
  };
}

}  // namespace sidecall::emulators
