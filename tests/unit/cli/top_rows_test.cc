#include "cli/top_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace sidecall::cli {
namespace {

v1::Sandbox& add(v1::GetStatisticsResponse& response, const std::string& id) {
  v1::Sandbox& sandbox = *response.add_sandboxes();
  sandbox.set_id(id);
  sandbox.set_cpus("0-3");
  sandbox.set_sync_wake_up(v1::SYNC_WAKE_UP_ON);
  sandbox.set_since_unix_ms(1);
  return sandbox;
}

void add_call(v1::Sandbox& sandbox, const std::string& name, std::uint64_t values,
              std::uint64_t errnos = 0) {
  v1::SyscallStatistics& call = *sandbox.add_syscalls();
  call.set_name(name);
  call.set_abi("x86_64");
  call.set_calls(values + errnos);
  call.set_values(values);
  call.set_errnos(errnos);
  call.set_latency_p50_ns(2100);
  call.set_latency_p99_ns(13'000'000);
}

class TopTest : public testing::Test {
 protected:
  TopTest() {
    add_call(add(before_, "quiet"), "uname", 7);
    add_call(add(before_, "busy"), "mknod", 100);
    add_call(add(after_, "quiet"), "uname", 7);
    v1::Sandbox& busy = add(after_, "busy");
    add_call(busy, "mknod", 250, 50);
    add_call(busy, "uname", 4000);
    add(after_, "new");
  }
  v1::GetStatisticsResponse before_;
  v1::GetStatisticsResponse after_;
};

TEST_F(TopTest, IsOfTheTimeBetween) {
  const Top top = top_between(before_, after_, 2);
  ASSERT_EQ(top.sandboxes.size(), 3U);
  EXPECT_EQ(top.sandboxes[0].id, "busy");
  ASSERT_EQ(top.sandboxes[0].calls.size(), 2U);
  EXPECT_EQ(top.sandboxes[0].calls[0].name, "uname");
  EXPECT_EQ(top.sandboxes[0].calls[0].calls, 4000U);
  EXPECT_EQ(top.sandboxes[0].calls[1].calls, 200U);
  EXPECT_EQ(top.sandboxes[0].calls[1].done, 150U);
  EXPECT_EQ(top.sandboxes[0].calls[1].errnos, 50U);
  EXPECT_EQ(top.sandboxes[1].total(), 0U);
}

TEST_F(TopTest, IsATable) {
  EXPECT_EQ(top_table(top_between(before_, after_, 2), 10),
            "SANDBOX  CPUS  SYNC  SYSCALL  CALLS/S  DONE  ERRNO  CONT    P50   P99\n"
            "busy     0-3   on    uname       2000  100%     0%    0%  2.1µs  13ms\n"
            "                     mknod        100   75%    25%    0%  2.1µs  13ms\n"
            "quiet    0-3   on    uname          0     -      -     -  2.1µs  13ms\n"
            "new      0-3   on    -              0     -      -     -      -     -\n");
}

TEST_F(TopTest, FitsIntoAPlainTerminal) {
  v1::Sandbox& sandbox = add(after_, std::string(64, 'a'));
  sandbox.set_cpus("0-15,32-47,64-79");
  add_call(sandbox, "clock_settime64", 123'456'789);
  add_call(sandbox, "a_call_of_a_long_name", 1, 1);
  std::istringstream lines(top_table(top_between(before_, after_, 1), 10));
  for (std::string line; std::getline(lines, line);) {
    const auto width = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    });
    EXPECT_LE(width, 80) << line;
  }
}

TEST_F(TopTest, HasNoMoreLinesThanThereIsRoomFor) {
  const std::string table = top_table(top_between(before_, after_, 1), 2);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
}

TEST_F(TopTest, FiguresThatBeganAnewCountFromNothing) {
  after_.mutable_sandboxes(1)->mutable_syscalls(0)->set_calls(40);
  after_.mutable_sandboxes(1)->mutable_syscalls(0)->set_values(40);
  after_.mutable_sandboxes(1)->mutable_syscalls(0)->set_errnos(0);
  const Top top = top_between(before_, after_, 1);
  EXPECT_EQ(top.sandboxes[0].calls[1].calls, 40U);
  EXPECT_EQ(top.sandboxes[0].calls[1].done, 40U);
}

TEST_F(TopTest, IsJson) {
  const auto json = nlohmann::json::parse(top_json(top_between(before_, after_, 2)));
  EXPECT_EQ(json["seconds"], 2.0);
  EXPECT_EQ(json["sandboxes"][0]["id"], "busy");
  EXPECT_EQ(json["sandboxes"][0]["calls_per_second"], 2100.0);
  EXPECT_EQ(json["sandboxes"][0]["syscalls"][1]["errnos_per_second"], 25.0);
  EXPECT_EQ(json["sandboxes"][0]["syscalls"][0]["p99_ns"], 13'000'000.0);
}

}  // namespace
}  // namespace sidecall::cli
