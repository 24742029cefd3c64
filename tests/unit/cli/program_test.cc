// The program as a person meets it: what it prints, and how it fails.
#include "unit/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "emulators/table.h"
#include "oci/seccomp.h"
#include "unit/hook/fixtures.h"

namespace sidecall::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ProgramTest, AWrongCommandLineExitsWith2) {
  expect_one_line(run_sidecall(""), 2, "which command");
  expect_one_line(run_sidecall("frobnicate"), 2, "frobnicate");
  expect_one_line(run_sidecall("ls --frobnicate"), 2, "--frobnicate");
  expect_one_line(run_sidecall("run"), 2, "COMMAND");
  expect_one_line(run_sidecall("run ls -l"), 2, "-l");
  expect_one_line(run_sidecall("bundle add"), 2, "DIR");
  expect_one_line(run_sidecall("profile"), 2, "subcommand");
}

TEST(ProgramTest, EveryCommandHasHelpWithAnExample) {
  for (const std::string command : {"run", "bundle add", "bundle remove", "profile compile",
                                    "check", "ls", "stats", "emulators", "doctor"}) {
    const Ending ending = run_sidecall(command + " --help");
    EXPECT_EQ(ending.status, 0);
    EXPECT_THAT(ending.output, HasSubstr("Example: sidecall " + command));
  }
  EXPECT_THAT(run_sidecall("--version").output, StartsWith("sidecall 0."));
}

TEST(ProgramTest, FailsWhereItsOutputIsNotTaken) {
  const Ending ending = run_sidecall("emulators >/dev/full");
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(ending.errors, HasSubstr("No space left"));
}

TEST(ProgramTest, ShowsEveryEmulator) {
  const std::string table = run_sidecall("emulators").output;
  for (const emulators::Row& row : emulators::table()) {
    EXPECT_THAT(table, HasSubstr(std::string(row.name)));
    EXPECT_THAT(run_sidecall("emulators " + std::string(row.name)).output,
                HasSubstr(std::string(row.example)));
  }
  expect_one_line(run_sidecall("emulators nosuch"), 1, "nosuch");
}

TEST(ProgramTest, ChecksPolicies) {
  const Ending good = run_sidecall("check " POLICY_DIRECTORY "/default.json");
  EXPECT_EQ(good.status, 0) << good.errors;
  EXPECT_THAT(good.output, AllOf(StartsWith("ok\n"), HasSubstr("mknodat"), HasSubstr("sysinfo")));
  EXPECT_EQ(run_sidecall("check default --policy-dir " POLICY_DIRECTORY).output, good.output);

  const oci_hook::TemporaryDirectory directory;
  const std::string path = directory.path() + "/bad.json";
  ASSERT_TRUE(replace_file(path, R"({"rules": [{"emulat": "sysinfo"}]})", 0644));
  expect_one_line(run_sidecall("check " + path), 1, "$.rules[0]");
  expect_one_line(run_sidecall("check " + directory.path() + "/none.json"), 1, "none.json");
  expect_one_line(run_sidecall("check none --policy-dir " + directory.path()), 1, "none.json");
}

TEST(ProgramTest, CompilesProfiles) {
  const oci_hook::TemporaryDirectory directory;
  const std::string base = directory.path() + "/base.json";
  const std::string output = directory.path() + "/out.json";
  ASSERT_TRUE(replace_file(base, R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
      {"names": ["read"], "action": "SCMP_ACT_ALLOW"},
      {"names": ["bpf"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_BPF"]}}]})",
                           0644));
  const std::string words = "--run-dir /run/x profile compile " POLICY_DIRECTORY
                            "/default.json --base " +
                            base + " -o " + output;
  const Ending ending = run_sidecall(words);
  ASSERT_EQ(ending.status, 0) << ending.errors;
  const auto text = read_file(output);
  ASSERT_TRUE(text);
  const auto profile = oci::parse_profile(*text, {});
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->default_action, "SCMP_ACT_ERRNO");
  EXPECT_EQ(profile->listener_path, "/run/x/seccomp.sock");
  EXPECT_EQ(profile->listener_metadata, "default");
  EXPECT_THAT(*text, AllOf(HasSubstr("SCMP_ACT_NOTIFY"), testing::Not(HasSubstr("bpf"))));

  ASSERT_EQ(run_sidecall(words + " --cap CAP_KILL --cap CAP_BPF").status, 0);
  EXPECT_THAT(read_file(output).value_or(""), HasSubstr("\"bpf\""));
  expect_one_line(
      run_sidecall("profile compile default --base /none --policy-dir " POLICY_DIRECTORY), 1,
      "/none");
}

TEST(ProgramTest, DoctorNamesABadPolicy) {
  const oci_hook::TemporaryDirectory directory;
  ASSERT_TRUE(replace_file(directory.path() + "/bad.json", "{", 0644));
  const Ending ending =
      run_sidecall("doctor --run-dir " + directory.path() + " --policy-dir " + directory.path());
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(ending.output, AllOf(HasSubstr("✗ policy bad"), HasSubstr("! policy default"),
                                   HasSubstr("! agent"), HasSubstr("cgroup layout")));
  EXPECT_THAT(run_sidecall("doctor --json --policy-dir " + directory.path()).output,
              HasSubstr("\"state\": \"missing\""));
}

}  // namespace
}  // namespace sidecall::cli
