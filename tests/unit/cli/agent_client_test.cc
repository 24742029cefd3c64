#include "cli/agent_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "base/paths.h"
#include "unit/cli/program.h"
#include "unit/hook/fixtures.h"

namespace sidecall::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Service final : public v1::Agent::Service {
 public:
  grpc::Status ListSandboxes(grpc::ServerContext*, const v1::ListSandboxesRequest*,
                             v1::ListSandboxesResponse* response) override {
    response->add_sandboxes()->set_id("web1");
    response->add_sandboxes()->set_id("web22");
    return grpc::Status::OK;
  }
  grpc::Status GetStatistics(grpc::ServerContext*, const v1::GetStatisticsRequest* request,
                             v1::GetStatisticsResponse* response) override {
    if (request->id() == "web1") return {grpc::StatusCode::NOT_FOUND, "web1 has just ended"};
    v1::Sandbox* sandbox = response->add_sandboxes();
    sandbox->set_id(request->id().empty() ? "all" : request->id());
    v1::SyscallStatistics* syscall = sandbox->add_syscalls();
    syscall->set_name("mknod");
    syscall->set_calls(3);
    return grpc::Status::OK;
  }
  grpc::Status Drain(grpc::ServerContext*, const v1::DrainRequest* request,
                     v1::DrainResponse* response) override {
    response->set_draining(!request->undo());
    response->set_sandboxes(2);
    return grpc::Status::OK;
  }
  grpc::Status Watch(grpc::ServerContext*, const v1::WatchRequest* request,
                     grpc::ServerWriter<v1::Event>* writer) override {
    v1::Event event;
    event.set_sandbox(request->id());
    event.set_kind(request->kinds().empty() ? v1::Event::SANDBOX_ENDED
                                            : static_cast<v1::Event::Kind>(request->kinds(0)));
    writer->Write(event);
    if (request->recent() == v1::RECENT_ONLY) return grpc::Status::OK;
    return {grpc::StatusCode::UNAVAILABLE, "over"};
  }
};

class AgentClientTest : public testing::Test {
 protected:
  AgentClientTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + in_directory(directory_.path(), kControlSocket),
                             grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  [[nodiscard]] Ending run(const std::string& words) const {
    return run_sidecall("--run-dir " + directory_.path() + " " + words);
  }

  oci_hook::TemporaryDirectory directory_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(AgentClientTest, DrainsAndTakesThatBack) {
  EXPECT_EQ(run("drain").output, "new containers are refused; 2 served to their end\n");
  EXPECT_EQ(run("drain --undo").output, "new containers are taken; 2 served to their end\n");
}

TEST_F(AgentClientTest, ListsSandboxes) {
  const auto sandboxes = AgentClient(directory_.path()).list();
  ASSERT_TRUE(sandboxes) << sandboxes.error().message;
  EXPECT_EQ(sandboxes->sandboxes_size(), 2);
  EXPECT_THAT(run("ls").output, AllOf(HasSubstr("ID"), HasSubstr("web22")));
  EXPECT_THAT(run("ls --json").output, HasSubstr("\"id\": \"web22\""));
}

TEST_F(AgentClientTest, ShowsStatisticsOfOneOrAll) {
  EXPECT_THAT(run("stats").output, AllOf(HasSubstr("all: "), HasSubstr("mknod")));
  EXPECT_THAT(run("stats web2").output, HasSubstr("web22: "));
  EXPECT_THAT(run("stats web22 --json").output, HasSubstr("\"calls\": \"3\""));
}

TEST_F(AgentClientTest, ShowsEvents) {
  EXPECT_EQ(run("events web1").output, "1970-01-01T00:00:00.000Z web1 sandbox-ended\n");
  EXPECT_EQ(run("events --json --kind call-denied web1").output,
            "{\"kind\":\"CALL_DENIED\",\"sandbox\":\"web1\"}\n");
  EXPECT_EQ(run("events --follow web1").status, 1) << "the agent has gone";
  expect_one_line(run("events --kind call-deny"), 1, "no kind of event \"call-deny\"; there are ");
}

TEST_F(AgentClientTest, SaysWhatTheAgentSays) {
  expect_one_line(run("stats web1"), 1, "web1 has just ended");
  expect_one_line(run("stats web"), 1, "more than one");
  expect_one_line(run("stats db"), 1, "no sandbox \"db\"");
}

TEST(AgentClientAbsentTest, SaysWhereItLookedAndHowToStartAnAgent) {
  const oci_hook::TemporaryDirectory directory;
  expect_one_line(run_sidecall("ls --run-dir " + directory.path()), 1,
                  directory.path() + "/control.sock; start it with `systemctl start sidecalld`");
}

TEST(FindIdTest, PrefersTheWholeId) {
  v1::ListSandboxesResponse sandboxes;
  sandboxes.add_sandboxes()->set_id("web11");
  sandboxes.add_sandboxes()->set_id("web1");
  EXPECT_EQ(find_id(sandboxes, "web1"), "web1");
  EXPECT_EQ(find_id(sandboxes, "web11"), "web11");
}

}  // namespace
}  // namespace sidecall::cli
