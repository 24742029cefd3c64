#include "agent/metrics.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "agent/figures.h"
#include "agent/metrics_server.h"
#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using emulators::VerdictKind;

std::shared_ptr<worker::Statistics> statistics_of(const std::vector<std::string>& calls) {
  emulators::Program program;
  for (const std::string& name : calls) {
    const auto nr = static_cast<std::int32_t>(program.routes.size());
    program.routes.push_back({kernel::Abi::kX86_64, nr, name, {}});
  }
  return std::make_shared<worker::Statistics>(std::move(*worker::Statistics::create(program)));
}

void count(worker::Statistics& statistics, std::size_t route, VerdictKind kind, unsigned times) {
  statistics.routes()[route].calls += times;
  statistics.routes()[route].verdicts.at(static_cast<std::size_t>(kind)) += times;
}

class MetricsTest : public testing::Test {
 protected:
  void show(const std::string& id, std::shared_ptr<worker::Statistics> statistics) {
    SandboxView view;
    view.id = id;
    view.state = SandboxState::kServing;
    view.listeners = 2;
    view.statistics = std::move(statistics);
    snapshot_.sandboxes.push_back(std::make_shared<const SandboxView>(std::move(view)));
    board_.publish(snapshot_);
  }
  [[nodiscard]] std::string text(bool by_sandbox = false) const {
    const Metrics metrics(board_, drain_, {.version = "1.2", .by_sandbox = by_sandbox});
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, metrics.Collect());
    return out.str();
  }
  [[nodiscard]] bool has(const std::string& line, bool by_sandbox = false) const {
    return ("\n" + text(by_sandbox)).find("\n" + line + "\n") != std::string::npos;
  }

  TemporaryDirectory directory_;
  SnapshotBoard board_;
  Snapshot snapshot_;
  DrainSwitch drain_{directory_ / "draining"};
};

TEST_F(MetricsTest, AddsUpSandboxesByCallAndVerdict) {
  const auto one = statistics_of({"mknod", "uname"});
  const auto two = statistics_of({"uname"});
  count(*one, 0, VerdictKind::kErrno, 2);
  count(*one, 1, VerdictKind::kValue, 3);
  count(*two, 0, VerdictKind::kValue, 4);
  one->routes()[0].failures = 1;
  one->header().stale = 5;
  show("a", one);
  show("b", two);
  EXPECT_TRUE(has(R"(sidecall_calls_total{syscall="uname",abi="x86_64",verdict="value"} 7)"));
  EXPECT_TRUE(has(R"(sidecall_calls_total{syscall="mknod",abi="x86_64",verdict="errno"} 2)"));
  EXPECT_TRUE(has(R"(sidecall_call_failures_total{syscall="mknod",abi="x86_64"} 1)"));
  EXPECT_TRUE(has("sidecall_stale_calls_total 5"));
  EXPECT_TRUE(has(R"(sidecall_sandboxes{state="serving"} 2)"));
  EXPECT_TRUE(has("sidecall_listeners 4"));
  EXPECT_TRUE(has("sidecall_workerless_sandboxes 2"));
  EXPECT_TRUE(has(R"(sidecall_build_info{version="1.2"} 1)"));
}

TEST_F(MetricsTest, SeriesOfASandboxAreThereOnlyWhenAskedFor) {
  const auto one = statistics_of({"uname"});
  count(*one, 0, VerdictKind::kValue, 3);
  show("a", one);
  show("a", one);  // its successor has come while it ends
  EXPECT_EQ(text().find("sandbox=\""), std::string::npos);
  EXPECT_TRUE(has(
      R"(sidecall_sandbox_calls_total{syscall="uname",abi="x86_64",sandbox="a",verdict="value"} 6)",
      true));
}

TEST_F(MetricsTest, BucketsAreCumulativeAndHoldWhatIsBelowTheirEdge) {
  const auto one = statistics_of({"uname"});
  auto& latency = one->routes()[0].latency;
  latency.record(1000);
  latency.record(1500);
  latency.record(20'000'000'000);
  show("a", one);
  const std::string series =
      R"(sidecall_call_duration_seconds_bucket{syscall="uname",abi="x86_64",)";
  EXPECT_TRUE(has(series + R"(le="1.024e-06"} 1)")) << text();
  EXPECT_TRUE(has(series + R"(le="2.048e-06"} 2)"));
  EXPECT_TRUE(has(series + R"(le="8.589934592000001"} 2)"));
  EXPECT_TRUE(has(series + R"(le="+Inf"} 3)"));
  EXPECT_TRUE(has(R"(sidecall_call_duration_seconds_count{syscall="uname",abi="x86_64"} 3)"));
}

TEST_F(MetricsTest, WhatHasEndedStaysCountedAndWhatWasTakenOverIsNot) {
  const auto ended = statistics_of({"uname"});
  count(*ended, 0, VerdictKind::kValue, 10);
  const auto taken_over = statistics_of({"uname"});
  count(*taken_over, 0, VerdictKind::kValue, 100);
  Figures past;
  past.add(*ended);
  past.subtract(*taken_over);
  snapshot_.past = std::make_shared<const Figures>(std::move(past));
  count(*taken_over, 0, VerdictKind::kValue, 1);
  show("a", taken_over);
  EXPECT_TRUE(has(R"(sidecall_calls_total{syscall="uname",abi="x86_64",verdict="value"} 11)"));
}

TEST_F(MetricsTest, ASocketAnswersOneRequestAfterAnother) {
  show("a", statistics_of({"uname"}));
  const auto metrics = std::make_shared<const Metrics>(board_, drain_, Metrics::Options{});
  const std::string path = directory_ / "metrics.sock";
  const auto server = MetricsServer::start(*parse_metrics_address("unix:" + path), metrics);
  ASSERT_TRUE(server) << server.error().message;
  const auto ask = [&](const std::string& request) {
    const UniqueFd socket = connect_to(path);
    send_bytes(socket, request);
    return read_all(socket);
  };
  const std::string answer = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("sidecall_listeners 2\n"), std::string::npos);
  EXPECT_TRUE(ask("GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
  EXPECT_EQ(ask(std::string(9000, 'x')), "") << "hung up on";
  EXPECT_TRUE(ask("GET /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST_F(MetricsTest, AnAddressThatIsTakenIsNamed) {
  const auto metrics = std::make_shared<const Metrics>(board_, drain_, Metrics::Options{});
  const auto address = parse_metrics_address("39477");
  const auto first = MetricsServer::start(*address, metrics);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = MetricsServer::start(*address, metrics);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("127.0.0.1:39477"), std::string::npos);
}

TEST(MetricsAddressTest, APortAloneIsTheLoopbacks) {
  EXPECT_EQ(parse_metrics_address("9477")->text, "127.0.0.1:9477");
  EXPECT_EQ(parse_metrics_address(":9477")->text, "127.0.0.1:9477");
  EXPECT_EQ(parse_metrics_address("localhost:9477")->text, "127.0.0.1:9477");
  EXPECT_EQ(parse_metrics_address("0.0.0.0:9477")->text, "0.0.0.0:9477");
  EXPECT_EQ(parse_metrics_address("[::1]:9477")->text, "[::1]:9477");
  EXPECT_TRUE(parse_metrics_address("unix:/run/m")->is_path);
}

TEST(MetricsAddressTest, WhatIsNoAddressIsRefused) {
  for (const char* text : {"", ":", "0", "65536", "9477s", "127.0.0.1:9477,8080", "unix:m", "a:b",
                           "::1:9477", "host:9477"}) {
    EXPECT_FALSE(parse_metrics_address(text)) << text;
  }
}

}  // namespace
}  // namespace sidecall::agent
