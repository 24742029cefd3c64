// The program itself: what it does with its standard streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/file.h"
#include "unit/hook/fixtures.h"

namespace sidecall::oci_hook {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// `redirection` is the shell's: "</dev/null".
Ending run_hook(const std::string& words, const std::string& redirection) {
  return run_command(HOOK_PROGRAM " " + words + " " + redirection);
}

void expect_one_line(const Ending& ending, int status, const std::string& part) {
  EXPECT_EQ(ending.status, status) << ending.text;
  EXPECT_THAT(ending.text, AllOf(StartsWith("sidecall-hook: "), HasSubstr(part)));
  EXPECT_EQ(std::count(ending.text.begin(), ending.text.end(), '\n'), 1) << ending.text;
}

TEST(HookProgramTest, SaysInOneLineWhatIsWrongWithStandardInput) {
  for (const std::string stage : {"precreate", "createRuntime", "poststop"}) {
    expect_one_line(run_hook(stage, "</dev/null"), 1, "empty");
    expect_one_line(run_hook(stage, "<&-"), 1, "standard input");
    expect_one_line(run_hook(stage, "</dev/zero"), 1, "16777216");
    expect_one_line(run_hook(stage, "<" HOOK_PROGRAM), 1, "standard input");
  }
}

TEST(HookProgramTest, AWrongCommandLineExitsWith2) {
  expect_one_line(run_hook("", ""), 2, "no stage");
  expect_one_line(run_hook("prestart", ""), 2, "prestart");
}

TEST(HookProgramTest, FailsWhereItsOutputIsNotTaken) {
  const TemporaryDirectory directory;
  const std::string input = directory.path() + "/config.json";
  ASSERT_TRUE(replace_file(input, R"({"annotations": {"dev.sidecall.optional": "true"}})", 0644));
  const std::string words = "--run-dir " + directory.path() + " precreate <" + input;
  EXPECT_EQ(run_hook(words, ">/dev/null").status, 0);
  EXPECT_EQ(run_hook(words, ">/dev/full").status, 1);
}

TEST(HookProgramTest, TellsItsVersionAndUsage) {
  EXPECT_THAT(run_hook("--version", "").text, StartsWith("sidecall-hook "));
  const Ending usage = run_hook("--help", "");
  EXPECT_EQ(usage.status, 0);
  EXPECT_THAT(usage.text, HasSubstr("precreate"));
}

}  // namespace
}  // namespace sidecall::oci_hook
