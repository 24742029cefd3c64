#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "oci/seccomp.h"
#include "policy/compile.h"
#include "policy/policy.h"
#include "unit/policy/filter.h"

namespace sidecall::policy {
namespace {

// Every policy of config/policies over every base that this machine offers: compiles without notes,
// into a filter that libseccomp takes and the kernel's limit holds.
TEST(ShippedPolicies, Compile) {
  std::vector<oci::SeccompProfile> bases = {oci::allow_all_profile()};
  if (const auto text = read_file("/usr/share/containers/seccomp.json"); text) {
    const auto base = oci::parse_profile(*text, {});
    ASSERT_TRUE(base) << base.error().message;
    bases.push_back(*base);
  }
  std::size_t policies = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SIDECALL_CONFIG "/policies")) {
    SCOPED_TRACE(entry.path());
    const auto policy = load_policy_file(entry.path());
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_EQ(policy->name, entry.path().stem());
    EXPECT_FALSE(policy->description.empty());
    EXPECT_TRUE(compile_program(*policy));
    for (const auto& base : bases) {
      const auto compiled = compile_profile(*policy, base);
      ASSERT_TRUE(compiled) << compiled.error().message;
      EXPECT_TRUE(compiled->notes.empty()) << compiled->notes.front();
      const auto filter = Filter::build(compiled->profile);
      ASSERT_TRUE(filter) << filter.error().message;
      EXPECT_LE(filter->size(), 4096U);  // BPF_MAXINSNS
    }
    ++policies;
  }
  EXPECT_GE(policies, 3U);
}

TEST(LoadPolicy, FindsAPolicyByItsName) {
  const auto policy = load_policy(SIDECALL_CONFIG "/policies", "default");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->name, "default");
}

TEST(LoadPolicy, NamesTheFileThatIsNotThere) {
  const auto policy = load_policy(SIDECALL_CONFIG "/policies", "absent");
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().message, "policy \"absent\": opening " SIDECALL_CONFIG
                                    "/policies/absent.json: No such file or directory");
}

TEST(LoadPolicy, NeverLeavesItsDirectory) {
  for (const std::string name : {"", ".", "..", ".hidden", "../default", "a/b", "policies/default",
                                 "a b", "a\n", "d\u00e9faut"}) {
    const auto policy = load_policy(SIDECALL_CONFIG "/policies", name);
    ASSERT_FALSE(policy) << name;
    EXPECT_NE(policy.error().message.find("a policy's name is"), std::string::npos) << name;
  }
  EXPECT_FALSE(load_policy(SIDECALL_CONFIG "/policies", std::string("default\0x", 9)));
  EXPECT_FALSE(load_policy(SIDECALL_CONFIG "/policies", std::string(65, 'a')));
}

}  // namespace
}  // namespace sidecall::policy
