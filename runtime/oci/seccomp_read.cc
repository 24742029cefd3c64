#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <tuple>

#include "oci/seccomp.h"
#include "oci/seccomp_json.h"

namespace sidecall::oci {
namespace {

constexpr std::size_t kMaxProfile = 4U << 20;
constexpr std::uint32_t kMaxErrno = 4095;        // MAX_ERRNO of linux/err.h
constexpr std::uint32_t kMaxTraceData = 0xffff;  // SECCOMP_RET_DATA of linux/seccomp.h

constexpr std::array<std::string_view, 9> kActions = {
    "SCMP_ACT_ALLOW",        "SCMP_ACT_ERRNO",       "SCMP_ACT_KILL",
    "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_KILL_THREAD", "SCMP_ACT_LOG",
    "SCMP_ACT_TRAP",         "SCMP_ACT_TRACE",       "SCMP_ACT_NOTIFY",
};

// In the order of emulators::Compare.
constexpr std::array<std::string_view, 7> kCompares = {
    "SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE",       "SCMP_CMP_EQ",
    "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ"};

// Go's names of architectures and libseccomp's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kArchitectures = {{
    {"386", "SCMP_ARCH_X86"},
    {"amd64", "SCMP_ARCH_X86_64"},
    {"amd64p32", "SCMP_ARCH_X32"},
    {"arm", "SCMP_ARCH_ARM"},
    {"arm64", "SCMP_ARCH_AARCH64"},
    {"mips", "SCMP_ARCH_MIPS"},
    {"mips64", "SCMP_ARCH_MIPS64"},
    {"mips64le", "SCMP_ARCH_MIPSEL64"},
    {"mipsle", "SCMP_ARCH_MIPSEL"},
    {"ppc64", "SCMP_ARCH_PPC64"},
    {"ppc64le", "SCMP_ARCH_PPC64LE"},
    {"riscv64", "SCMP_ARCH_RISCV64"},
    {"s390", "SCMP_ARCH_S390"},
    {"s390x", "SCMP_ARCH_S390X"},
}};

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

std::string read_action(const Node& node) {
  std::string action = node.text();
  if (node.present() && std::find(kActions.begin(), kActions.end(), action) == kActions.end()) {
    node.reject("must be a SCMP_ACT_ action of the OCI specification");
  }
  return action;
}

// errnoRet (a number) and errno (a name, which wins where both are there, as in containers-common).
std::optional<std::uint32_t> read_errno(const Node& number, const Node& name,
                                        std::string_view action) {
  if (const std::string text = name.text(); !text.empty()) {
    const auto value = errno_number(text);
    if (!value) name.reject("unknown errno");
    return value;
  }
  if (!number.present()) return std::nullopt;
  const bool trace = action == "SCMP_ACT_TRACE";
  return static_cast<std::uint32_t>(number.number(trace ? kMaxTraceData : kMaxErrno));
}

// Whether the running kernel is at least "MAJOR.MINOR".
bool kernel_at_least(const Node& node, const ProfileContext& context) {
  const std::string text = node.text();
  unsigned major = 0;
  unsigned minor = 0;
  const char* const end = text.data() + text.size();
  const auto [dot, bad_major] = std::from_chars(text.data(), end, major);
  const bool split = bad_major == std::errc() && dot != end && *dot == '.';
  const auto [rest, bad_minor] = std::from_chars(split ? dot + 1 : end, end, minor);
  if (!split || bad_minor != std::errc() || rest != end) node.reject("must be \"MAJOR.MINOR\"");
  return std::tie(context.kernel_major, context.kernel_minor) >= std::tie(major, minor);
}

// A rule stands where all of `includes` and none of `excludes` apply. That is how moby
// (profiles/seccomp) and containers-common (pkg/seccomp) resolve them.
bool applies(const Node& rule, const ProfileContext& context) {
  const auto has_capability = [&](const std::string& name) {
    return contains(context.capabilities, name);
  };
  const Node includes = rule.nullable("includes");
  const Node excludes = rule.nullable("excludes");
  const auto wanted = includes.nullable("caps").texts();
  const auto unwanted = excludes.nullable("caps").texts();
  const auto architectures = includes.nullable("arches").texts();
  const Node since = includes.nullable("minKernel");
  const Node before = excludes.nullable("minKernel");
  return std::all_of(wanted.begin(), wanted.end(), has_capability) &&
         std::none_of(unwanted.begin(), unwanted.end(), has_capability) &&
         (architectures.empty() || contains(architectures, context.architecture)) &&
         !contains(excludes.nullable("arches").texts(), context.architecture) &&
         (!since.present() || kernel_at_least(since, context)) &&
         (!before.present() || !kernel_at_least(before, context));
}

SeccompRule read_rule(const Node& node) {
  SeccompRule rule;
  rule.names = node.nullable("names").texts();
  if (std::string name = node.nullable("name").text(); !name.empty()) {
    if (!rule.names.empty()) node.reject("has both \"name\" and \"names\"");
    rule.names.push_back(std::move(name));
  }
  if (rule.names.empty()) node.reject("names no system call");
  rule.action = read_action(node.required("action"));
  rule.errno_ret = read_errno(node.nullable("errnoRet"), node.nullable("errno"), rule.action);
  for (const Node& arg : node.nullable("args").items()) rule.args.push_back(read_condition(arg));
  return rule;
}

std::vector<std::string> read_architectures(const Node& node, const ProfileContext& context) {
  std::vector<std::string> architectures = node.nullable("architectures").texts();
  const Node map = node.nullable("archMap");
  const auto entries = map.items();
  if (!architectures.empty() && !entries.empty()) {
    map.reject("\"architectures\" is there too: a profile has one of them");
  }
  for (const auto& [go_name, name] : kArchitectures) {
    if (go_name != context.architecture) continue;
    for (const Node& entry : entries) {
      if (entry.required("architecture").text() != name) continue;
      architectures.emplace_back(name);
      for (std::string& sub : entry.nullable("subArchitectures").texts()) {
        architectures.push_back(std::move(sub));
      }
    }
  }
  return architectures;
}

}  // namespace

emulators::Condition read_condition(const Node& node) {
  emulators::Condition condition;
  condition.index = static_cast<std::uint8_t>(node.required("index").number(5));
  condition.value = node.required("value").number(UINT64_MAX);
  condition.value_two = node.nullable("valueTwo").number(UINT64_MAX);
  const Node op = node.required("op");
  const auto* const found = std::find(kCompares.begin(), kCompares.end(), op.text());
  if (found == kCompares.end()) {
    op.reject("must be SCMP_CMP_EQ, _NE, _LT, _LE, _GT, _GE or _MASKED_EQ");
  } else {
    condition.op = static_cast<emulators::Compare>(found - kCompares.begin());
  }
  return condition;
}

std::string_view compare_name(emulators::Compare compare) {
  return kCompares[static_cast<std::size_t>(compare)];
}

std::optional<std::uint32_t> errno_number(std::string_view name) {
  // The second names of three numbers, which strerrorname_np() does not give.
  if (name == "EWOULDBLOCK") return EWOULDBLOCK;
  if (name == "ENOTSUP") return ENOTSUP;
  if (name == "EDEADLOCK") return EDEADLOCK;
  for (std::uint32_t number = 1; number <= kMaxErrno; ++number) {
    const char* known = strerrorname_np(static_cast<int>(number));
    if (known != nullptr && name == known) return number;
  }
  return std::nullopt;
}

SeccompProfile read_profile(const Node& node, const ProfileContext& context) {
  SeccompProfile profile;
  profile.default_action = read_action(node.required("defaultAction"));
  profile.default_errno_ret = read_errno(node.nullable("defaultErrnoRet"),
                                         node.nullable("defaultErrno"), profile.default_action);
  profile.architectures = read_architectures(node, context);
  profile.flags = node.nullable("flags").texts();
  profile.listener_path = node.nullable("listenerPath").text();
  profile.listener_metadata = node.nullable("listenerMetadata").text();
  for (const Node& rule : node.nullable("syscalls").items()) {
    SeccompRule read = read_rule(rule);  // read all the same where it does not apply: fail closed
    if (applies(rule, context)) profile.syscalls.push_back(std::move(read));
  }
  return profile;
}

Result<SeccompProfile> parse_profile(std::string_view json, const ProfileContext& context) {
  const auto document = parse_json(json, kMaxProfile);
  if (!document) return tl::unexpected<Error>(document.error());
  Node::Finding finding;
  SeccompProfile profile = read_profile(Node(*document, finding), context);
  if (finding.found()) return finding.take();
  return profile;
}

}  // namespace sidecall::oci
