// The scripts of `sidecall completion`, run by the shells that are here.
#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "unit/cli/program.h"
#include "unit/hook/fixtures.h"

namespace sidecall::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What bash offers for the words, of which the last is being typed.
std::string offered(const std::string& words) {
  const oci_hook::TemporaryDirectory directory;
  const std::string script = directory.path() + "/script";
  EXPECT_TRUE(replace_file(script,
                           "source <(" SIDECALL_PROGRAM " completion bash)\nCOMP_WORDS=(" + words +
                               ")\nCOMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))\n_sidecall\n"
                               "printf '%s\\n' \"${COMPREPLY[@]}\"\n",
                           0600));
  return run_sidecall("--version >/dev/null; bash " + script).output;
}

TEST(Completion, OffersCommands) {
  EXPECT_THAT(offered("sidecall ''"),
              AllOf(HasSubstr("run\n"), HasSubstr("profile\n"), HasSubstr("--run-dir\n")));
  EXPECT_EQ(offered("sidecall pro"), "profile\n");
  EXPECT_THAT(offered("sidecall profile ''"), AllOf(HasSubstr("compile\n"), HasSubstr("record\n")));
}

TEST(Completion, OffersTheCommandsOwnOptions) {
  EXPECT_EQ(offered("sidecall profile record --out"), "--output\n");
  EXPECT_EQ(offered("sidecall events --fol"), "--follow\n");
  EXPECT_EQ(offered("sidecall ls --fol"), "\n");
}

TEST(Completion, AnOptionsValueIsNoCommand) {
  EXPECT_EQ(offered("sidecall --run-dir events --policy-d"), "--policy-dir\n");
  EXPECT_EQ(offered("sidecall --run-dir pro"), "\n") << "a file";
}

TEST(Completion, WhatFollowsTwoDashesIsTheCommands) {
  EXPECT_EQ(offered("sidecall run -- pro"), "\n");
}

TEST(Completion, EveryShellsScriptNamesEveryCommand) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ending ending = run_sidecall(std::string("completion ") + shell);
    EXPECT_EQ(ending.status, 0) << shell;
    for (const char* command : {"bundle", "events", "record", "top", "completion"}) {
      EXPECT_THAT(ending.output, HasSubstr(command)) << shell;
    }
  }
  expect_one_line(run_sidecall("completion tcsh"), 1, "there is bash, zsh and fish");
}

}  // namespace
}  // namespace sidecall::cli
