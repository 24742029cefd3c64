#include "cli/sandbox_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

v1::Sandbox sandbox() {
  v1::Sandbox sandbox;
  sandbox.set_id(std::string(64, 'a'));
  sandbox.set_state(v1::Sandbox::STATE_SERVING);
  sandbox.set_policy("default");
  sandbox.set_pid(123456);
  sandbox.set_worker_pid(123457);
  sandbox.set_cpus("0-3,8");
  sandbox.set_sync_wake_up(v1::SYNC_WAKE_UP_ON);
  sandbox.set_listeners(2);
  sandbox.set_since_unix_ms(1'000'000);
  return sandbox;
}

TEST(SandboxTableTest, FitsALongIdInto80Columns) {
  v1::ListSandboxesResponse sandboxes;
  *sandboxes.add_sandboxes() = sandbox();
  const auto now = std::chrono::system_clock::time_point(std::chrono::seconds(1000 + 7200));
  const std::string text = sandbox_table(sandboxes, now);
  const std::string line = text.substr(text.find('\n') + 1);
  EXPECT_EQ(line.size(), 80U + 1 + 2) << "the sign for what was cut has three bytes:\n" << text;
  EXPECT_THAT(line, AllOf(HasSubstr("serving"), HasSubstr("123457"), HasSubstr("0-3,8"),
                          HasSubstr(" on "), HasSubstr(" 2h\n")));
}

TEST(SandboxReportTest, MentionsOnlyWhatHappened) {
  v1::Sandbox quiet = sandbox();
  EXPECT_THAT(sandbox_report(quiet),
              AllOf(HasSubstr("policy default"), HasSubstr("no call"), Not(HasSubstr("died"))));
  quiet.set_worker_restarts(2);
  quiet.set_unrouted_calls(5);
  EXPECT_THAT(sandbox_report(quiet),
              AllOf(HasSubstr("2 times its worker died"), HasSubstr("5 calls notified")));
}

}  // namespace
}  // namespace sidecall::cli
