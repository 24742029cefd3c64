#include "agent/hook_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using testing::HasSubstr;

constexpr std::string_view kState =
    R"({"ociVersion":"1.0.2","id":"web","status":"creating","pid":7,"bundle":"/b"})";

std::string error_of(std::string_view bytes) {
  const auto request = read_hook_request(bytes);
  return request ? "" : request.error().message;
}

TEST(HookRequest, ReadsEachStage) {
  EXPECT_EQ(read_hook_request("ping\n")->stage, HookRequest::Stage::kPing);
  const auto create = read_hook_request("createRuntime\n" + std::string(kState));
  ASSERT_TRUE(create) << create.error().message;
  EXPECT_EQ(create->stage, HookRequest::Stage::kCreateRuntime);
  EXPECT_EQ(create->state.id, "web");
  EXPECT_EQ(read_hook_request("poststop\n" + std::string(kState))->stage,
            HookRequest::Stage::kPoststop);
}

TEST(HookRequest, RefusesEverythingElse) {
  EXPECT_THAT(error_of("ping"), HasSubstr("no line that names its stage"));
  EXPECT_THAT(error_of("ping\nmore"), HasSubstr("ping brings nothing else"));
  EXPECT_THAT(error_of("prestart\n{}"), HasSubstr("unknown stage \"prestart\""));
  EXPECT_THAT(error_of("createRuntime\n"), HasSubstr("container state"));
  EXPECT_THAT(error_of("poststop\n{\"id\": 1}"), HasSubstr("container state"));
}

class Handler final : public HookHandler {
 public:
  void expect(oci::State state, HookAnswer answer) override {
    expected.push_back(std::move(state));
    answers.push_back(std::move(answer));
  }
  void forget(const oci::State& state) override { forgotten.push_back(state); }
  std::vector<oci::State> expected;
  std::vector<HookAnswer> answers;
  std::vector<oci::State> forgotten;
};

class HookIntake : public testing::Test {
 protected:
  HookIntake() {
    auto socket = ListeningSocket::bind(directory_ / "hook.sock");
    intake_ = std::move(*start_hook_intake(*loop_, log_.log(), std::move(*socket), {}, handler_));
  }

  UniqueFd ask(const std::string& request) {
    UniqueFd client = connect_to(directory_ / "hook.sock");
    send_bytes(client, request);
    finish_sending(client);
    return client;
  }
  std::string answer_to(const std::string& request) {
    const UniqueFd client = ask(request);
    EXPECT_TRUE(loop_.run_until([&] { return peer_closed(client); }));
    return read_all(client);
  }

  TemporaryDirectory directory_;
  CapturedLog log_;
  TestLoop loop_;
  Handler handler_;
  std::unique_ptr<MessageIntake> intake_;
};

TEST_F(HookIntake, AnswersPing) {
  EXPECT_EQ(answer_to("ping\n"), "ok\n");
}

TEST_F(HookIntake, AnswersCreateRuntimeWhenTheHandlerDoes) {
  const UniqueFd client = ask("createRuntime\n" + std::string(kState));
  ASSERT_TRUE(loop_.run_until([&] { return handler_.answers.size() == 1; }));
  EXPECT_EQ(handler_.expected.front().pid, 7);
  EXPECT_FALSE(peer_closed(client));
  handler_.answers.front()({});
  EXPECT_EQ(read_all(client), "ok\n");
}

TEST_F(HookIntake, AnswersAnErrorInOneLine) {
  const UniqueFd client = ask("createRuntime\n" + std::string(kState));
  ASSERT_TRUE(loop_.run_until([&] { return handler_.answers.size() == 1; }));
  handler_.answers.front()(failure("no policy \"a\nb\""));
  EXPECT_EQ(read_all(client), "no policy \"a?b\"\n");
}

TEST_F(HookIntake, AnAnswerThatIsNeverGivenClosesTheConnection) {
  const UniqueFd client = ask("createRuntime\n" + std::string(kState));
  ASSERT_TRUE(loop_.run_until([&] { return handler_.answers.size() == 1; }));
  handler_.answers.clear();
  EXPECT_EQ(read_all(client), "");
}

TEST_F(HookIntake, AnAnswerToAHookThatHasGoneIsNoMatter) {
  ask("createRuntime\n" + std::string(kState)).reset();
  ASSERT_TRUE(loop_.run_until([&] { return handler_.answers.size() == 1; }));
  handler_.answers.front()({});
  EXPECT_EQ(answer_to("ping\n"), "ok\n");
}

TEST_F(HookIntake, AnswersPoststop) {
  EXPECT_EQ(answer_to("poststop\n" + std::string(kState)), "ok\n");
  ASSERT_EQ(handler_.forgotten.size(), 1U);
  EXPECT_EQ(handler_.forgotten.front().id, "web");
}

TEST_F(HookIntake, AnswersABadRequestWithItsFault) {
  EXPECT_THAT(answer_to("prestart\n"), HasSubstr("unknown stage"));
  EXPECT_TRUE(log_.has("hook refused"));
}

TEST_F(HookIntake, TakesNoDescriptors) {
  const Pipe pipe;
  const UniqueFd client = connect_to(directory_ / "hook.sock");
  send_bytes(client, "ping\n", {pipe.read.get()});
  EXPECT_TRUE(loop_.run_until([&] { return peer_closed(client); }));
  EXPECT_TRUE(log_.has("1 descriptors, where at most 0 may come"));
}

}  // namespace
}  // namespace sidecall::agent
