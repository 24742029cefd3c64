#include "oci_hook/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

namespace sidecall::oci_hook {
namespace {

using testing::HasSubstr;

Result<Arguments> parse(const std::vector<const char*>& words) {
  return parse_arguments(words);
}

TEST(ArgumentsTest, DefaultsAreThePathsThatAllProgramsShare) {
  const auto arguments = parse({"precreate"});
  ASSERT_TRUE(arguments) << arguments.error().message;
  EXPECT_EQ(arguments->action, Action::kPrecreate);
  EXPECT_EQ(arguments->run_directory, "/run/sidecall");
  EXPECT_EQ(arguments->policy_directory, "/etc/sidecall/policies");
  EXPECT_EQ(arguments->policy, "default");
}

TEST(ArgumentsTest, TakesBothFormsOfAnOptionOnBothSidesOfTheStage) {
  const auto arguments =
      parse({"--run-dir", "/r", "createRuntime", "--policy-dir=/p", "--policy=x=y"});
  ASSERT_TRUE(arguments) << arguments.error().message;
  EXPECT_EQ(arguments->action, Action::kCreateRuntime);
  EXPECT_EQ(arguments->run_directory, "/r");
  EXPECT_EQ(arguments->policy_directory, "/p");
  EXPECT_EQ(arguments->policy, "x=y");
}

TEST(ArgumentsTest, WaitsForAsLongAsItIsToldButNotLongerThanTheEngineWaits) {
  EXPECT_EQ(parse({"precreate"})->wait, std::chrono::milliseconds(3000));
  EXPECT_EQ(parse({"--wait", "0", "precreate"})->wait, std::chrono::milliseconds(0));
  EXPECT_EQ(parse({"--wait=4000", "precreate"})->wait, std::chrono::milliseconds(4000));
  for (const char* bad : {"--wait=4001", "--wait=-1", "--wait=1s", "--wait=99999999999"}) {
    const auto arguments = parse({bad, "precreate"});
    ASSERT_FALSE(arguments) << bad;
    EXPECT_THAT(arguments.error().message, HasSubstr("--wait needs a number of milliseconds"));
  }
}

TEST(ArgumentsTest, MakesDirectoriesAbsolute) {
  const auto arguments = parse({"--run-dir=./r", "poststop"});
  ASSERT_TRUE(arguments) << arguments.error().message;
  EXPECT_EQ(arguments->action, Action::kPoststop);
  EXPECT_EQ(arguments->run_directory, (std::filesystem::current_path() / "r").string());
}

TEST(ArgumentsTest, NamesWhatIsWrong) {
  EXPECT_THAT(parse({}).error().message, HasSubstr("no stage"));
  EXPECT_THAT(parse({"prestart"}).error().message, HasSubstr("\"prestart\""));
  EXPECT_THAT(parse({"poststop", "precreate"}).error().message, HasSubstr("more than one stage"));
  EXPECT_THAT(parse({"precreate", "--run-dir"}).error().message, HasSubstr("--run-dir needs"));
  EXPECT_THAT(parse({"precreate", "--policy="}).error().message, HasSubstr("--policy needs"));
}

}  // namespace
}  // namespace sidecall::oci_hook
