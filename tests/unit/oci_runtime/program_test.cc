// The program itself: what the runtime behind it gets, compared with the runtime called directly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "unit/hook/fixtures.h"

namespace sidecall::oci_runtime {
namespace {

using oci_hook::Ending;
using oci_hook::run_command;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class RuntimeProgram : public testing::Test {
 protected:
  void SetUp() override {
    // Tells all that it was given, and fails in its own way.
    ASSERT_TRUE(replace_file(runtime_,
                             "#!/bin/bash\n"
                             "printf '%q ' \"$@\"; echo; pwd; env | sort | grep -v '^_='; cat\n"
                             "ls /proc/self/fd; cat <&7\n"
                             "echo what went wrong >&2; exit 42\n",
                             0755));
    ASSERT_TRUE(replace_file(given_, "from a descriptor\n", 0644));
  }
  [[nodiscard]] Ending compare(const std::string& words) const {
    const auto call = [&](const std::string& program) {
      return run_command("cd / && echo input | env -i A='b c' LISTEN_FDS=3 " + program + " " +
                         words + " 7<" + given_);
    };
    const auto direct = call(runtime_);
    const auto through = call(RUNTIME_PROGRAM " --sidecall-runtime=" + runtime_);
    EXPECT_EQ(through.text, direct.text);
    EXPECT_EQ(through.status, direct.status);
    return through;
  }

  oci_hook::TemporaryDirectory directory_;
  std::string runtime_ = directory_.path() + "/runtime";
  std::string given_ = directory_.path() + "/given";
};

TEST_F(RuntimeProgram, GivesTheRuntimeEverythingAsItIs) {
  for (const char* words :
       {"--root /r --log /dev/null --log-format json --systemd-cgroup state abc",
        "--root /r exec --process /p --console-socket /c --detach abc", "features", "--version", "",
        "create --bundle /nowhere --pid-file '/a b' abc", "future --flag 'a \"b\"' ''"}) {
    const auto ending = compare(words);
    EXPECT_EQ(ending.status, 42);
    EXPECT_THAT(ending.text, AllOf(HasSubstr("input"), HasSubstr("from a descriptor"))) << words;
  }
}

TEST_F(RuntimeProgram, SaysWhyAContainerDoesNotStartWhereEnginesLook) {
  ASSERT_TRUE(replace_file(directory_.path() + "/config.json",
                           R"({"annotations": {"dev.sidecall.policy": "a\"b"}})", 0644));
  const std::string log = directory_.path() + "/log";
  const auto create = [&](const std::string& format) {
    return run_command(RUNTIME_PROGRAM " --sidecall-runtime=" + runtime_ + " --sidecall-wait=0" +
                       " --sidecall-run-dir=" + directory_.path() + " --log " + log + format +
                       " create --bundle " + directory_.path() + " abc");
  };
  const auto ending = create(" --log-format json");
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(ending.text, AllOf(StartsWith("sidecall-runtime: "), HasSubstr("sidecalld")));
  EXPECT_THAT(read_file(log).value_or(""),
              AllOf(StartsWith(R"({"level":"error","msg":"sidecall-runtime: )"),
                    HasSubstr(R"("time":"20)")));
  EXPECT_EQ(create("").status, 1);
  EXPECT_THAT(read_file(log).value_or(""), HasSubstr(R"(level=error msg="sidecall-runtime: )"));
}

TEST_F(RuntimeProgram, AWrongOptionOfOursExitsWith2) {
  EXPECT_EQ(run_command(RUNTIME_PROGRAM " --sidecall-no").status, 2);
  EXPECT_EQ(run_command(RUNTIME_PROGRAM " --sidecall-runtime=/nowhere state abc").status, 1);
}

TEST_F(RuntimeProgram, TellsItsVersionAndUsage) {
  EXPECT_THAT(run_command(RUNTIME_PROGRAM " --sidecall-version").text,
              StartsWith("sidecall-runtime "));
  EXPECT_THAT(run_command(RUNTIME_PROGRAM " --sidecall-help").text,
              HasSubstr("--sidecall-policy NAME"));
}

}  // namespace
}  // namespace sidecall::oci_runtime
