// Why: what unpacks image layers or builds overlays writes trusted.overlay.*, and backups restore
// trusted.* of any kind. The kernel wants CAP_SYS_ADMIN in the initial user namespace for it, which
// root of a container has only in its own.
//
// Why it is safe: only listed names, of files whose owner and group both are ids of the sandbox,
// for callers with CAP_SYS_ADMIN in its user namespace. The call is first made as the caller; only
// where the kernel then says EPERM does the helper make it, on the very file that was found. The
// mount that it was found by decides whether it may be written to.
#include "emulators/xattr.h"

#include <linux/capability.h>
#include <linux/limits.h>
#include <linux/xattr.h>

#include <array>
#include <span>

#include "emulators/attribute_names.h"
#include "emulators/caller_file.h"

namespace sidecall::emulators {
namespace {

// The row's members are these by three: by path, by path without following a last link, by
// descriptor.
enum class Action : std::uint8_t { kSet, kRemove, kGet, kList };
constexpr unsigned kWays = 3;
constexpr std::size_t kMembers = 12;

Action action_of(std::size_t member) {
  return static_cast<Action>(member / kWays);
}

bool reads(Action action) {
  return action == Action::kGet || action == Action::kList;
}

// Copied arguments. A list has no name, and only what is set has a value and flags.
struct Wanted {
  Action action{};
  std::string name;
  std::string value;
  int flags = 0;
};

FileName file_of(const Call& call) {
  constexpr unsigned kByLink = 1;
  constexpr unsigned kByDescriptor = 2;
  FileName file;
  if (call.member % kWays == kByDescriptor) {
    file.descriptor = static_cast<int>(call.args[0]);
  } else {
    file.path_address = call.args[0];
    file.follow = call.member % kWays != kByLink;
  }
  return file;
}

// import_xattr_name() of the kernel's fs/xattr.c.
SysResult<std::string> copy_name(kernel::Target& target, std::uint64_t address) {
  auto name = target.read_string(address, XATTR_NAME_MAX + 1);
  const bool too_long = !name && name.error().value == ENAMETOOLONG;
  if (too_long || (name && name->empty())) return sys_failure(ERANGE);
  return name;
}

// setxattr_copy(): without a size there is no value to look at.
SysResult<std::string> copy_value(kernel::Target& target, std::uint64_t address,
                                  std::uint64_t size) {
  if (size > XATTR_SIZE_MAX) return sys_failure(E2BIG);
  std::string value(size, '\0');
  if (size == 0) return value;
  const auto copied = target.read(address, std::as_writable_bytes(std::span(value)));
  if (!copied) return tl::unexpected<Errno>(copied.error());
  return value;
}

// What getxattr(2) and listxattr(2) do with what was found. Without a size they tell one.
Outcome give(kernel::Target& target, const std::string& found, std::uint64_t address,
             std::uint64_t size) {
  if (size != 0 && found.size() > size) return Errno{ERANGE};
  if (size != 0 && !found.empty()) {
    const auto written = target.write(address, std::as_bytes(std::span(found)));
    if (!written) return written.error();
  }
  return Value{static_cast<std::int64_t>(found.size())};
}

// On either side, with the rights that it has there.
SysResult<std::string> apply(const Wanted& wanted, kernel::FileAttributes& attributes, int file) {
  const auto nothing = [] { return std::string(); };
  switch (wanted.action) {
    case Action::kSet:
      return attributes.set(file, wanted.name, wanted.value, wanted.flags).map(nothing);
    case Action::kRemove:
      return attributes.remove(file, wanted.name).map(nothing);
    case Action::kGet:
      return attributes.get(file, wanted.name);
    case Action::kList:
      break;
  }
  return attributes.list(file);
}

class XattrEmulator final : public Emulator {
 public:
  XattrEmulator(AttributeNames names, bool reads) : names_(std::move(names)), reads_(reads) {}

  Outcome emulate(const Call& call, Environment& environment) const override {
    if (!environment.sandbox.has_own_user_namespace()) return Continue{};
    kernel::Target& target = environment.target;
    Wanted wanted{.action = action_of(call.member), .name = {}, .value = {}};
    if (wanted.action == Action::kSet) {
      wanted.flags = static_cast<int>(call.args[4]);
      if ((wanted.flags & ~(XATTR_CREATE | XATTR_REPLACE)) != 0) return Errno{EINVAL};
    }
    if (wanted.action != Action::kList) {
      auto name = copy_name(target, call.args[1]);
      if (!name) return name.error();
      // What is not trusted anybody may read.
      if (!names_.allows(*name) ||
          (wanted.action == Action::kGet && !name->starts_with(XATTR_TRUSTED_PREFIX))) {
        return Continue{};
      }
      wanted.name = std::move(*name);
    }
    auto credentials = target.credentials();
    if (!credentials) return credentials.error();
    const auto in_sandbox = target.in_sandbox_user_namespace();
    if (!in_sandbox) return in_sandbox.error();
    if (!credentials->has_capability(CAP_SYS_ADMIN) || !*in_sandbox) return Continue{};
    if (wanted.action == Action::kSet) {
      auto value = copy_value(target, call.args[2], call.args[3]);
      if (!value) return value.error();
      wanted.value = std::move(*value);
    }

    auto file = CallerFile::find(target, file_of(call), std::move(*credentials));
    if (!file) return file.error();
    const auto answer = answer_for(wanted, *file, environment);
    if (!answer && environment.made_before && is_done(wanted, answer.error())) return Value{0};
    if (!answer) return answer.error();
    if (!reads(wanted.action)) return Value{0};
    const unsigned buffer = wanted.action == Action::kGet ? 2 : 1;
    return give(target, *answer, call.args[buffer], call.args[buffer + 1]);
  }

  StepWords describe(const Step& step) const override {
    static constexpr std::array kVerbs = {"set ", "remove ", "get ", "list "};
    if (step.numbers[0] >= kVerbs.size() || step.texts.empty()) return {.what = "attribute"};
    return {.what = kVerbs[step.numbers[0]] + step.texts[0]};
  }

  SysResult<StepResult> perform(const Step& step, kernel::HostActions& host) const override {
    if (step.texts.size() != 2 || step.fds.size() != 1 ||
        step.numbers[0] > static_cast<std::uint64_t>(Action::kList)) {
      return sys_failure(EINVAL);
    }
    const Wanted wanted{.action = static_cast<Action>(step.numbers[0]),
                        .name = step.texts[0],
                        .value = step.texts[1],
                        .flags = static_cast<int>(step.numbers[1])};
    if (reads(wanted.action) && !reads_) return sys_failure(EPERM);
    if (wanted.action != Action::kList && !names_.allows(wanted.name)) return sys_failure(EPERM);
    auto found = apply(wanted, host.attributes(), step.fds[0].get());
    if (!found) return tl::unexpected<Errno>(found.error());
    if (wanted.action == Action::kList) found = visible(*found);
    return StepResult{.value = 0, .bytes = std::move(*found)};
  }

 private:
  // What is said to who does again what has been done.
  static bool is_done(const Wanted& wanted, Errno number) {
    return (wanted.action == Action::kSet && number.value == EEXIST) ||
           (wanted.action == Action::kRemove && number.value == ENODATA);
  }

  // The kernel's own to the caller, or the helper's where that refuses or hides.
  [[nodiscard]] static SysResult<std::string> answer_for(const Wanted& wanted, CallerFile& file,
                                                         Environment& environment) {
    std::string found;
    const auto acted = file.as_caller(
        *environment.actor, [&](kernel::CallerFiles& files, int fd) -> SysResult<void> {
          return apply(wanted, files.attributes(), fd).map([&](std::string text) {
            found = std::move(text);
          });
        });
    // A list leaves out what it hides, and of a value it says that there is none.
    const int refusal = reads(wanted.action) ? ENODATA : EPERM;
    const bool hides = acted && wanted.action == Action::kList;
    const bool refuses = !acted && acted.error().value == refusal && file.is_resolved();
    if (!hides && !refuses) return acted.map([&] { return found; });

    Step step;
    step.numbers = {static_cast<std::uint64_t>(wanted.action),
                    static_cast<std::uint64_t>(wanted.flags)};
    step.texts = {wanted.name, wanted.value};
    step.fds.push_back(file.take());
    auto performed = environment.ask_helper(step);
    if (performed) return std::move(performed->bytes);
    // Of a file that is not the sandbox's nothing is told beyond what the kernel tells.
    if (performed.error().value == EPERM) return acted.map([&] { return found; });
    return tl::unexpected<Errno>(performed.error());
  }

  // A list without the trusted attributes that are not the policy's.
  [[nodiscard]] std::string visible(std::string_view list) const {
    std::string kept;
    while (!list.empty()) {
      const std::string_view name = list.substr(0, list.find('\0'));
      if (!name.starts_with(XATTR_TRUSTED_PREFIX) || names_.allows(name)) {
        kept.append(name).push_back('\0');
      }
      list.remove_prefix(std::min(name.size() + 1, list.size()));
    }
    return kept;
  }

  AttributeNames names_;
  bool reads_;
};

Result<std::unique_ptr<Emulator>> make(const Options& options) {
  auto names = AttributeNames::parse(option_or(options, "names", std::vector<std::string>{}));
  if (!names) return pass_on(std::move(names), "names");
  return std::make_unique<XattrEmulator>(std::move(*names), option_or(options, "reads", false));
}

bool serves(const Options& options, std::size_t member) {
  return !reads(action_of(member)) || option_or(options, "reads", false);
}

}  // namespace

Row xattr_row() {
  // The kernel takes flags as 32 bits; any but these two are its EINVAL.
  static const std::array<Conditions, 1> kKnownFlags = {Conditions{
      {4, Compare::kMaskedEqual, 0xffffffff & ~std::uint64_t{XATTR_CREATE | XATTR_REPLACE}, 0}}};
  static const std::array<Member, kMembers> kCalls = {
      Member{"setxattr", kKnownFlags},  Member{"lsetxattr", kKnownFlags},
      Member{"fsetxattr", kKnownFlags}, Member{"removexattr", {}},
      Member{"lremovexattr", {}},       Member{"fremovexattr", {}},
      Member{"getxattr", {}},           Member{"lgetxattr", {}},
      Member{"fgetxattr", {}},          Member{"listxattr", {}},
      Member{"llistxattr", {}},         Member{"flistxattr", {}}};
  static constexpr std::array<OptionSpec, 2> kOptions = {
      OptionSpec{"names", OptionType::kStringList, true,
                 "attributes that may be set and removed: \"trusted.overlay.*\", \"security.ima\""},
      OptionSpec{"reads", OptionType::kBool, false,
                 "whether listed trusted attributes can be read back; default: false"}};
  return Row{
      .name = "xattr",
      .members = kCalls,
      .support = Support::kPartial,
      .rights = {.needs = Needs::kFiles,
                 .capabilities = kernel::actor_capabilities(),
                 .host_capabilities = 1ULL << CAP_SYS_ADMIN,
                 .own_users_only = true},
      .repeatable = false,  // the second time an attribute may be there, or gone
      .options = kOptions,
      .summary =
          "sets and removes listed trusted.* and security.* attributes for callers with "
          "CAP_SYS_ADMIN in the sandbox's user namespace",
      .notes =
          "A name is in memory, where no filter looks: every call that sets or removes an "
          "attribute is notified, and with \"reads\" every one that reads; name fewer \"syscalls\" "
          "to notify fewer. setxattrat and its kin (Linux 6.13), which libseccomp 2.5 does not "
          "know, stay with the kernel. So does security.capability, which root of a container sets "
          "by its own right.",
      .example =
          R"({"rules": [{"emulate": "xattr", "options": {"names": ["trusted.overlay.*"]}}]})",
      .make = make,
      .serves = serves,
  };
}

}  // namespace sidecall::emulators
