#include "agent/control_server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <thread>

#include "agent/acceptor.h"
#include "sidecall/v1/agent.grpc.pb.h"
#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using emulators::VerdictKind;

// The server on a real socket, its loop on a thread of its own, as in the agent.
class ControlServerTest : public testing::Test {
 protected:
  ControlServerTest() {
    server_ = std::move(
        *ControlServer::start(board_, drain_, hub_, [this](bool on) { told_.push_back(on); }, {}));
    auto socket = ListeningSocket::bind(directory_ / "control.sock");
    acceptor_ =
        std::move(*Acceptor::start(*loop_, log_.log(), std::move(*socket), "control",
                                   [this](Peer p) { server_->serve(std::move(p.socket)); }));
    stop_watch_ = std::move(*loop_->watch(stop_.read.get(), [this] { loop_->stop(); }));
    thread_ = std::thread([this] { static_cast<void>(loop_->run().has_value()); });
    channel_ = grpc::CreateChannel("unix:" + directory_ / "control.sock",
                                   grpc::InsecureChannelCredentials());
    stub_ = v1::Agent::NewStub(channel_);
  }
  void TearDown() override {
    stop_.write.reset();
    thread_.join();
  }

  void publish() {
    emulators::Program program;
    program.routes.push_back({kernel::Abi::kX86_64, 99, "sysinfo", {}});
    statistics_ =
        std::make_shared<worker::Statistics>(std::move(*worker::Statistics::create(program)));
    statistics_->header().sync = worker::SyncState::kOn;
    statistics_->header().stale = 4;
    statistics_->header().unrouted = 5;
    worker::RouteStatistics& route = statistics_->routes().front();
    route.calls = 7;
    route.failures = 1;
    for (std::size_t kind = 0; kind < emulators::kVerdictKinds; ++kind) {
      route.verdicts.at(kind) = 10 + kind;
    }
    route.latency.record(2000);
    SandboxView view;
    view.id = "web";
    view.state = SandboxState::kServing;
    view.bundle = "/b";
    view.policy = "default";
    view.pid = 42;
    view.worker_pid = 43;
    view.cpus = "0-1";
    view.listeners = 2;
    view.since = std::chrono::system_clock::time_point{std::chrono::milliseconds{1234}};
    view.worker_restarts = 3;
    view.annotations = {{"a", "b"}};
    view.statistics = statistics_;
    auto bare = std::make_shared<SandboxView>();
    bare->id = "bare";
    board_.publish(
        {.sandboxes = {std::make_shared<const SandboxView>(std::move(view)), std::move(bare)}});
  }

  // grpc.health.v1.Health by hand: a request is {1: service}, a response {1: status}.
  [[nodiscard]] std::string health_of(const std::string& service) const {
    const grpc::Slice slice("\x0a" + std::string(1, static_cast<char>(service.size())) + service);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::ClientContext context;
    grpc::GenericStub stub(channel_);
    std::promise<grpc::Status> answered;
    stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                   [&](grpc::Status status) { answered.set_value(std::move(status)); });
    const auto status = answered.get_future().get();
    grpc::Slice bytes;
    if (!status.ok() || !response.DumpToSingleSlice(&bytes).ok()) return status.error_message();
    return {bytes.begin(), bytes.end()};
  }

  TemporaryDirectory directory_;
  CapturedLog log_;
  TestLoop loop_;
  SnapshotBoard board_;
  DrainSwitch drain_{directory_ / "draining"};
  EventHub hub_;
  std::vector<bool> told_;
  Pipe stop_;
  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<Acceptor> acceptor_;
  EventLoop::Handle stop_watch_;
  std::thread thread_;
  std::shared_ptr<worker::Statistics> statistics_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Agent::Stub> stub_;
};

TEST_F(ControlServerTest, ListsSandboxesWithoutTheirCalls) {
  publish();
  grpc::ClientContext context;
  v1::ListSandboxesResponse response;
  const auto status = stub_->ListSandboxes(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.sandboxes_size(), 2);
  const v1::Sandbox& sandbox = response.sandboxes(0);
  EXPECT_EQ(sandbox.id(), "web");
  EXPECT_EQ(sandbox.state(), v1::Sandbox::STATE_SERVING);
  EXPECT_EQ(sandbox.bundle(), "/b");
  EXPECT_EQ(sandbox.policy(), "default");
  EXPECT_EQ(sandbox.pid(), 42);
  EXPECT_EQ(sandbox.worker_pid(), 43);
  EXPECT_EQ(sandbox.cpus(), "0-1");
  EXPECT_EQ(sandbox.sync_wake_up(), v1::SYNC_WAKE_UP_ON);
  EXPECT_EQ(sandbox.listeners(), 2U);
  EXPECT_EQ(sandbox.since_unix_ms(), 1234);
  EXPECT_EQ(sandbox.worker_restarts(), 3U);
  EXPECT_EQ(sandbox.stale_calls(), 4U);
  EXPECT_EQ(sandbox.unrouted_calls(), 5U);
  EXPECT_EQ(sandbox.syscalls_size(), 0);
  EXPECT_EQ(sandbox.annotations_size(), 0);
  EXPECT_EQ(response.sandboxes(1).state(), v1::Sandbox::STATE_EXPECTED);
}

TEST_F(ControlServerTest, GetsOneSandboxWithItsCalls) {
  publish();
  grpc::ClientContext context;
  v1::GetSandboxRequest request;
  request.set_id("web");
  v1::Sandbox sandbox;
  ASSERT_TRUE(stub_->GetSandbox(&context, request, &sandbox).ok());
  EXPECT_EQ(sandbox.annotations().at("a"), "b");
  ASSERT_EQ(sandbox.syscalls_size(), 1);
  const v1::SyscallStatistics& call = sandbox.syscalls(0);
  EXPECT_EQ(call.name(), "sysinfo");
  EXPECT_EQ(call.abi(), "x86_64");
  EXPECT_EQ(call.calls(), 7U);
  EXPECT_EQ(call.continued(), 10U);
  EXPECT_EQ(call.errnos(), 11U);
  EXPECT_EQ(call.values(), 12U);
  EXPECT_EQ(call.descriptors(), 13U);
  EXPECT_EQ(call.gone(), 14U);
  EXPECT_EQ(call.failures(), 1U);
  EXPECT_GE(call.latency_p50_ns(), 2000U);
  EXPECT_LE(call.latency_p50_ns(), 2250U);
  EXPECT_EQ(call.latency_p99_ns(), call.latency_p50_ns());
}

TEST_F(ControlServerTest, StatisticsAreThoseOfTheMoment) {
  publish();
  statistics_->routes().front().calls = 8;
  grpc::ClientContext context;
  v1::GetStatisticsResponse response;
  ASSERT_TRUE(stub_->GetStatistics(&context, {}, &response).ok());
  ASSERT_EQ(response.sandboxes_size(), 2);
  EXPECT_EQ(response.sandboxes(0).syscalls(0).calls(), 8U);
  EXPECT_EQ(response.sandboxes(1).syscalls_size(), 0);
}

TEST_F(ControlServerTest, AnUnknownIdIsNotFound) {
  publish();
  grpc::ClientContext one;
  v1::GetSandboxRequest request;
  request.set_id("db");
  v1::Sandbox sandbox;
  EXPECT_EQ(stub_->GetSandbox(&one, request, &sandbox).error_code(), grpc::StatusCode::NOT_FOUND);
  grpc::ClientContext two;
  v1::GetStatisticsRequest statistics;
  statistics.set_id("db");
  v1::GetStatisticsResponse response;
  const auto status = stub_->GetStatistics(&two, statistics, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no sandbox \"db\"");
}

TEST_F(ControlServerTest, AHugeRequestIsRefusedAndTheNextServed) {
  publish();
  grpc::ClientContext one;
  v1::GetSandboxRequest request;
  request.set_id(std::string(100'000, 'x'));
  v1::Sandbox sandbox;
  EXPECT_EQ(stub_->GetSandbox(&one, request, &sandbox).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  grpc::ClientContext two;
  request.set_id("web");
  EXPECT_TRUE(stub_->GetSandbox(&two, request, &sandbox).ok());
}

// Whoever comes while all are taken is hung up on, and one that goes makes room.
TEST_F(ControlServerTest, ConnectionsAreCounted) {
  std::vector<UniqueFd> held;
  const auto one_more = [&]() -> UniqueFd& {
    return held.emplace_back(connect_to(directory_ / "control.sock"));
  };
  for (std::size_t many = 0; many < ControlServer::kMostConnections; ++many) one_more();
  char byte = 0;
  EXPECT_EQ(::read(one_more().get(), &byte, 1), 0);
  held.clear();
  publish();
  v1::GetSandboxRequest request;
  request.set_id("web");
  v1::Sandbox sandbox;
  grpc::ClientContext context;
  context.set_wait_for_ready(true);  // gRPC closes them when it likes
  EXPECT_TRUE(stub_->GetSandbox(&context, request, &sandbox).ok());
}

// Nobody but root and the agent's own user, whatever the socket's mode has become.
TEST_F(ControlServerTest, AnotherUserIsHungUpOn) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string path = directory_ / "control.sock";
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
  std::filesystem::permissions(path, std::filesystem::perms::all);
  const pid_t other = ::fork();
  if (other == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setuid(kNobody) != 0) ::_exit(2);
    const UniqueFd socket = connect_to(path);
    char byte = 0;
    ::_exit(::read(socket.get(), &byte, 1) == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(log_.has("neither root nor the agent's own user"));
}

TEST_F(ControlServerTest, AWatcherIsToldWhatHappens) {
  publish();
  v1::Event before;
  before.set_kind(v1::Event::SANDBOX_APPEARED);
  before.set_sandbox("old");
  hub_.publish(before);
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_recent(v1::RECENT_FIRST);
  const auto reader = stub_->Watch(&context, request);
  reader->WaitForInitialMetadata();
  EXPECT_EQ(statistics_->header().watched, 1U << static_cast<unsigned>(VerdictKind::kErrno));
  v1::Event event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.sandbox(), "old");
  v1::Event now;
  now.set_kind(v1::Event::CALL_DENIED);
  now.set_sandbox("web");
  for (int count = 0; count < 1000; ++count) hub_.publish(now);
  for (int count = 0; count < 1000; ++count) ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.kind(), v1::Event::CALL_DENIED);
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  while (hub_.is_watched()) std::this_thread::yield();
  EXPECT_EQ(statistics_->header().watched, 0U) << "nobody pays for what nobody reads";
}

TEST_F(ControlServerTest, WhatIsRecentComesToItsEnd) {
  v1::Event event;
  event.set_kind(v1::Event::SANDBOX_ENDED);
  for (int count = 0; count < 3; ++count) hub_.publish(event);
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_recent(v1::RECENT_ONLY);
  const auto reader = stub_->Watch(&context, request);
  int seen = 0;
  while (reader->Read(&event)) ++seen;
  EXPECT_EQ(seen, 3);
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(ControlServerTest, WatchersDoNotTakeTheThreadsOfTheOthers) {
  publish();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::Event>>> readers;
  for (std::size_t count = 0; count < EventHub::kMostWatchers; ++count) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(stub_->Watch(contexts.back().get(), {}));
    readers.back()->WaitForInitialMetadata();
  }
  grpc::ClientContext context;
  v1::ListSandboxesResponse response;
  EXPECT_TRUE(stub_->ListSandboxes(&context, {}, &response).ok());
  grpc::ClientContext one_more;
  EXPECT_EQ(stub_->Watch(&one_more, {})->Finish().error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (const auto& each : contexts) each->TryCancel();
  for (const auto& reader : readers) static_cast<void>(reader->Finish());
}

constexpr std::string_view kServing = "\x08\x01";
constexpr std::string_view kNotServing = "\x08\x02";

TEST_F(ControlServerTest, IsHealthy) {
  for (const std::string service : {"", "sidecall.v1.Agent"}) {
    EXPECT_EQ(health_of(service), kServing) << service;
  }
}

TEST_F(ControlServerTest, DrainsAndTakesThatBack) {
  publish();
  v1::DrainRequest request;
  v1::DrainResponse response;
  grpc::ClientContext one;
  ASSERT_TRUE(stub_->Drain(&one, request, &response).ok());
  EXPECT_TRUE(response.draining());
  EXPECT_EQ(response.sandboxes(), 2U);
  EXPECT_TRUE(drain_.is_on());
  EXPECT_EQ(health_of("sidecall.v1.Agent"), kNotServing);
  EXPECT_TRUE(DrainSwitch(directory_ / "draining").is_on()) << "the next agent's";
  grpc::ClientContext two;
  request.set_undo(true);
  ASSERT_TRUE(stub_->Drain(&two, request, &response).ok());
  EXPECT_FALSE(response.draining());
  EXPECT_EQ(health_of(""), kServing);
  EXPECT_FALSE(DrainSwitch(directory_ / "draining").is_on());
  EXPECT_EQ(told_, (std::vector<bool>{true, false}));
}

TEST_F(ControlServerTest, ASwitchThatCannotBeRememberedIsNotSet) {
  std::filesystem::create_symlink("/nowhere/draining", directory_ / "draining");
  grpc::ClientContext context;
  v1::DrainResponse response;
  const auto status = stub_->Drain(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(status.error_message().find(directory_ / "draining"), std::string::npos);
  EXPECT_FALSE(drain_.is_on());
}

}  // namespace
}  // namespace sidecall::agent
