// `sidecall run`, with a real worker behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "unit/cli/program.h"
#include "unit/hook/fixtures.h"

namespace sidecall::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RunTest : public testing::Test {
 protected:
  // Under a policy that gives uname(2) another release.
  [[nodiscard]] Ending run(const std::string& words) const {
    const std::string path = directory_.path() + "/p.json";
    EXPECT_TRUE(replace_file(
        path, R"({"rules": [{"emulate": "uname", "options": {"release": "1.2.3-test"}}]})", 0644));
    return run_sidecall("run --policy " + path + " " + words);
  }
  oci_hook::TemporaryDirectory directory_;
};

TEST_F(RunTest, ServesTheCommandsCalls) {
  const Ending ending = run("--stats -- uname -r");
  EXPECT_EQ(ending.status, 0) << ending.errors;
  EXPECT_EQ(ending.output, "1.2.3-test\n");
  EXPECT_THAT(ending.errors, AllOf(HasSubstr("SYSCALL"), HasSubstr("uname")));
}

TEST_F(RunTest, ServesWhatTheCommandStarts) {
  EXPECT_EQ(run("-- sh -c 'sh -c \"uname -r\" & wait'").output, "1.2.3-test\n");
}

TEST_F(RunTest, ExitsAsTheCommandDoes) {
  EXPECT_EQ(run("-- sh -c 'exit 42'").status, 42);
  EXPECT_EQ(run("-- sh -c 'kill -9 $$'").status, 128 + 9);
  expect_one_line(run("-- /sidecall/no/such/program"), 127, "/sidecall/no/such/program");
  expect_one_line(run("-- /"), 126, "/: ");
}

TEST_F(RunTest, HandsSignalsOn) {
  // The command's parent is `sidecall`, which is to hand the signal back to it.
  const Ending ending =
      run("-- sh -c 'trap \"exit 5\" USR1; kill -USR1 $PPID; "
          "while :; do sleep 0.01; done'");
  EXPECT_EQ(ending.status, 5) << ending.errors;
}

TEST_F(RunTest, TheCommandDiesWithIt) {
  // The pid of the sleeping command, after `sidecall` has been killed, is nobody's soon.
  const std::string pid_file = directory_.path() + "/pid";
  const Ending ending = run("-- sh -c 'echo $$ >" + pid_file + "; kill -9 $PPID; exec sleep 1000'");
  EXPECT_EQ(ending.status, 128 + 9);
  const auto pid = read_file(pid_file);
  ASSERT_TRUE(pid);
  const std::string path = "/proc/" + pid->substr(0, pid->find('\n')) + "/stat";
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const auto stat = read_file(path);
    if (!stat || stat->find(") Z ") != std::string::npos) return;
    ::usleep(10'000);
  }
  FAIL() << path << " is still there";
}

TEST_F(RunTest, FailsWith125WhereItCannotServe) {
  expect_one_line(run_sidecall("run --policy ./none.json -- true"), 125, "none.json");
  expect_one_line(run("-- " SIDECALL_PROGRAM " run -- true"), 125, "already has a listener");
}

TEST_F(RunTest, TheBuiltInPolicyIsTheShippedOne) {
  EXPECT_EQ(run_sidecall("run -- true").status, 0);
  EXPECT_THAT(run_sidecall("run --stats -- true").errors, HasSubstr("no call was notified"));
}

}  // namespace
}  // namespace sidecall::cli
