#include "cli/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/file.h"
#include "unit/hook/fixtures.h"

namespace sidecall::cli {
namespace {

using oci_hook::config_text;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Bundle {
 public:
  explicit Bundle(std::string_view config) {
    write(config);
    EXPECT_TRUE(replace_file(policies_.path() + "/default.json", oci_hook::kPolicyText, 0644));
    EXPECT_TRUE(replace_file(policies_.path() + "/other.json", oci_hook::kPolicyText, 0644));
  }
  [[nodiscard]] std::string config_path() const { return directory_.path() + "/config.json"; }
  [[nodiscard]] std::string record_path() const { return config_path() + ".sidecall"; }
  [[nodiscard]] std::string config() const { return read_file(config_path()).value_or("(none)"); }
  void write(std::string_view config) const {
    EXPECT_TRUE(replace_file(config_path(), config, 0640));
  }
  [[nodiscard]] Result<std::vector<std::string>> add(
      std::optional<std::string> policy = std::nullopt) const {
    return add_to_bundle({.directory = directory_.path(),
                          .installation = oci_hook::test_installation(),
                          .policy_directory = policies_.path(),
                          .policy = std::move(policy)});
  }
  [[nodiscard]] Result<void> remove() const { return remove_from_bundle(directory_.path()); }

 private:
  oci_hook::TemporaryDirectory directory_;
  oci_hook::TemporaryDirectory policies_;
};

class BundleTest : public testing::TestWithParam<const char*> {
 protected:
  std::string original_ = config_text(GetParam());
  Bundle bundle_{original_};
};
INSTANTIATE_TEST_SUITE_P(Configs, BundleTest, testing::ValuesIn(oci_hook::kConfigNames),
                         [](const auto& config) { return config.param; });

TEST_P(BundleTest, IsUndoneToTheByte) {
  ASSERT_TRUE(bundle_.add());
  EXPECT_THAT(bundle_.config(), AllOf(HasSubstr("listenerPath"), HasSubstr("createRuntime")));
  const auto removed = bundle_.remove();
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(bundle_.config(), original_);
  EXPECT_FALSE(std::filesystem::exists(bundle_.record_path()));
}

TEST_P(BundleTest, IsUndoneToTheByteAfterSeveralEdits) {
  ASSERT_TRUE(bundle_.add());
  const std::string once = bundle_.config();
  ASSERT_TRUE(bundle_.add());
  EXPECT_EQ(bundle_.config(), once);
  ASSERT_TRUE(bundle_.add("other"));
  EXPECT_THAT(bundle_.config(), HasSubstr("\"other\""));
  ASSERT_TRUE(bundle_.remove());
  EXPECT_EQ(bundle_.config(), original_);
}

TEST_P(BundleTest, KeepsModeAndEditsByHand) {
  ASSERT_TRUE(bundle_.add());
  struct stat status {};
  ASSERT_EQ(::stat(bundle_.config_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);

  std::string edited = bundle_.config();
  const auto host_name = edited.find("\"hostname\"");
  ASSERT_NE(host_name, std::string::npos);
  edited.insert(host_name, "\"domainname\": \"by-hand\",");
  bundle_.write(edited);
  ASSERT_TRUE(bundle_.remove());
  EXPECT_THAT(bundle_.config(), AllOf(HasSubstr("by-hand"), Not(HasSubstr("sidecall"))));
  EXPECT_EQ(oci_hook::parse_config(bundle_.config()).seccomp_text(),
            oci_hook::parse_config(original_).seccomp_text());
}

TEST_P(BundleTest, AnEditByHandBecomesTheOriginalOfTheNextEdit) {
  ASSERT_TRUE(bundle_.add());
  std::string edited = bundle_.config();
  edited.insert(edited.find("\"hostname\""), "\"domainname\": \"by-hand\",");
  bundle_.write(edited);
  ASSERT_TRUE(bundle_.add());
  ASSERT_TRUE(bundle_.remove());
  EXPECT_THAT(bundle_.config(), AllOf(HasSubstr("by-hand"), Not(HasSubstr("sidecall"))));
}

TEST_P(BundleTest, ACrashBeforeConfigJsonWasWrittenIsUndone) {
  ASSERT_TRUE(bundle_.add());
  bundle_.write(original_);
  ASSERT_TRUE(bundle_.remove());
  EXPECT_EQ(bundle_.config(), original_);
}

TEST(BundleErrorTest, NamesWhatIsMissing) {
  EXPECT_THAT(remove_from_bundle("/sidecall/no/such/bundle").error().message,
              HasSubstr("/sidecall/no/such/bundle/config.json"));
  const Bundle bundle("{}");
  EXPECT_THAT(bundle.remove().error().message, HasSubstr("nothing to undo"));
  EXPECT_THAT(bundle.add("nowhere").error().message, HasSubstr("nowhere"));
  EXPECT_EQ(bundle.config(), "{}");
  EXPECT_FALSE(std::filesystem::exists(bundle.record_path()));
}

TEST(BundleErrorTest, APolicyThatContradictsTheAnnotationIsRefused) {
  const Bundle bundle(R"({"annotations": {"dev.sidecall.policy": "other"}})");
  EXPECT_THAT(bundle.add("default").error().message,
              AllOf(HasSubstr("\"other\""), HasSubstr("\"default\"")));
  EXPECT_TRUE(bundle.add("other"));
  EXPECT_TRUE(bundle.remove());
  EXPECT_TRUE(bundle.add());
}

TEST(BundleErrorTest, ADamagedRecordIsNamed) {
  const Bundle bundle("{}");
  ASSERT_TRUE(bundle.add());
  const std::string edited = bundle.config();
  for (const std::string_view record : {"", "{}", "sidecall bundle record 1\n/hook\n"}) {
    ASSERT_TRUE(replace_file(bundle.record_path(), record, 0600));
    EXPECT_THAT(bundle.remove().error().message, HasSubstr("config.json.sidecall")) << record;
    EXPECT_EQ(bundle.config(), edited);
  }
}

}  // namespace
}  // namespace sidecall::cli
