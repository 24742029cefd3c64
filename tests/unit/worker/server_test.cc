#include "worker/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>

#include <optional>

#include "placement/placement.h"
#include "support/fake_actor.h"
#include "support/fake_listener.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace sidecall::worker {
namespace {

using emulators::Outcome;
using emulators::Rule;
using emulators::Verdict;
using emulators::VerdictKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Gives whatever the test says.
class Scripted final : public emulators::Emulator {
 public:
  explicit Scripted(std::function<Outcome(emulators::Environment&)> act) : act_(std::move(act)) {}
  Outcome emulate(const emulators::Call&, emulators::Environment& environment) const override {
    return act_(environment);
  }

 private:
  std::function<Outcome(emulators::Environment&)> act_;
};

class OneTarget final : public TargetSource {
 public:
  Outcome with_target(const kernel::Notification&,
                      FunctionRef<Outcome(kernel::Target&)> act) override {
    return act(target);
  }
  support::FakeTarget target;
};

emulators::Program sample_program() {
  emulators::Program program;
  const auto route = [&](std::int32_t nr, Rule::Action action, std::int64_t number) {
    program.routes.push_back({.abi = kernel::Abi::kX86_64,
                              .nr = nr,
                              .name = "n" + std::to_string(nr),
                              .rules = {{.when = {}, .action = action, .number = number}}});
  };
  route(0, Rule::Action::kContinue, 0);
  route(1, Rule::Action::kErrno, EACCES);
  route(2, Rule::Action::kValue, 77);
  return program;
}

class ServerTest : public testing::Test {
 protected:
  ServerTest()
      : dispatcher_(std::move(*Dispatcher::build(sample_program()))),
        statistics_(std::move(*Statistics::create(sample_program()))),
        report_([this](const std::string& line) { reports_.push_back(line); }),
        server_({.dispatcher = dispatcher_,
                 .sandbox = sandbox_,
                 .statistics = statistics_,
                 .report = report_,
                 .events = &events_},
                listener_, targets_, kernel::NotificationBuffer({})) {}

  // A call of number `nr`, as far as its receipt.
  PendingCall receive(std::int32_t nr, std::uint32_t arch = AUDIT_ARCH_X86_64) {
    listener_.call({.tid = 1, .arch = arch, .nr = nr});
    const auto call = server_.receive();
    EXPECT_TRUE(call);
    return call.value_or(PendingCall{});
  }
  // A call that a scripted emulator is asked about, on route 0.
  PendingCall receive_for(const emulators::Emulator& emulator) {
    PendingCall call = receive(0);
    call.decision.emulator = &emulator;
    call.decision.action = Rule::Action::kEmulate;
    return call;
  }
  // The answer to a call whose emulator says `verdict`.
  std::optional<kernel::Response> answer_of(const std::function<Outcome()>& verdict) {
    const Scripted emulator([&](emulators::Environment&) { return verdict(); });
    const PendingCall call = receive_for(emulator);
    server_.serve(call, nullptr);
    return listener_.answer_to(call.notification.id);
  }

  RouteStatistics& route(std::size_t index) { return statistics_.routes()[index]; }
  std::uint64_t verdicts(VerdictKind kind) {
    return route(0).verdicts[static_cast<std::size_t>(kind)];
  }

  support::FakeListener listener_;
  OneTarget targets_;
  support::FakeSandbox sandbox_;
  Dispatcher dispatcher_;
  Statistics statistics_;
  std::vector<std::string> reports_;
  std::function<void(const std::string&)> report_;
  EventLog events_{statistics_, [] {}};
  Server server_;
};

TEST_F(ServerTest, TellsOfCallsOnlyWhileSomebodyWatches) {
  server_.serve(receive(1), nullptr);
  EXPECT_THAT(statistics_.events().drain(), IsEmpty());
  statistics_.header().watched = 1U << static_cast<unsigned>(VerdictKind::kErrno);
  server_.serve(receive(1), nullptr);
  server_.serve(receive(2), nullptr);
  const auto records = statistics_.events().drain();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].kind, EventRecord::Kind::kCall);
  EXPECT_EQ(records[0].route, 1U);
  EXPECT_EQ(records[0].tid, 1);
  EXPECT_EQ(records[0].verdict, VerdictKind::kErrno);
  EXPECT_EQ(records[0].number, EACCES);
}

TEST_F(ServerTest, DeclaredAnswersNeedNoEmulator) {
  struct Case {
    std::int32_t nr;
    kernel::Response expected;
  };
  for (const auto& [nr, expected] :
       {Case{0, {.proceed = true}}, Case{1, {.errno_value = EACCES}}, Case{2, {.value = 77}}}) {
    const PendingCall call = receive(nr);
    server_.serve(call, nullptr);
    const auto answer = listener_.answer_to(call.notification.id);
    ASSERT_TRUE(answer) << nr;
    EXPECT_EQ(answer->proceed, expected.proceed) << nr;
    EXPECT_EQ(answer->errno_value, expected.errno_value) << nr;
    EXPECT_EQ(answer->value, expected.value) << nr;
    EXPECT_EQ(route(static_cast<std::size_t>(nr)).calls, 1U) << nr;
  }
}

TEST_F(ServerTest, ReceivesTheErrnoOfTheListener) {
  listener_.fail_receive(EPERM);
  EXPECT_EQ(server_.receive().error().value, EPERM);
}

TEST_F(ServerTest, AForeignCallIsRefusedAndCountedApart) {
  const PendingCall call = receive(0, AUDIT_ARCH_ARM);
  server_.serve(call, nullptr);
  EXPECT_EQ(listener_.answer_to(call.notification.id)->errno_value, ENOSYS);
  EXPECT_EQ(statistics_.header().unrouted, 1U);
  EXPECT_EQ(route(0).calls, 0U);
}

TEST_F(ServerTest, EachVerdictIsItsAnswerAndItsCount) {
  EXPECT_TRUE(answer_of([] { return emulators::Continue{}; })->proceed);
  EXPECT_EQ(answer_of([] { return Errno{ENODEV}; })->errno_value, ENODEV);
  EXPECT_EQ(answer_of([] { return emulators::Value{1LL << 40U}; })->value, 1LL << 40U);
  EXPECT_EQ(verdicts(VerdictKind::kContinue), 1U);
  EXPECT_EQ(verdicts(VerdictKind::kErrno), 1U);
  EXPECT_EQ(verdicts(VerdictKind::kValue), 1U);
  EXPECT_EQ(verdicts(VerdictKind::kFd), 0U);
  EXPECT_EQ(verdicts(VerdictKind::kGone), 0U);
  EXPECT_EQ(route(0).calls, 3U);
  EXPECT_EQ(route(0).failures, 0U);
  EXPECT_GT(route(0).latency.quantile(0.5), 0U);
  EXPECT_EQ(statistics_.header().stale, 0U);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(ServerTest, ADescriptorIsAddedAndItsNumberIsTheAnswer) {
  for (const bool cloexec : {false, true}) {
    const auto answer = answer_of(
        [&] { return emulators::Fd{.fd = support::named_fd("given"), .cloexec = cloexec}; });
    const auto& added = listener_.added_fds().back();
    EXPECT_EQ(support::fd_name(added.fd.get()), "given");
    EXPECT_EQ(added.cloexec, cloexec);
    EXPECT_EQ(answer->value, added.number);
    EXPECT_EQ(answer->errno_value, 0);
  }
  EXPECT_THAT(listener_.added_fds(), SizeIs(2));
  EXPECT_EQ(verdicts(VerdictKind::kFd), 2U);
}

TEST_F(ServerTest, OnOneCpuADescriptorIsItsOwnAnswer) {
  const auto cpus = placement::own_cpus();
  unsigned first = 0;
  while (!cpus.has(first)) ++first;
  ASSERT_TRUE(placement::place_self(placement::CpuSet::of(first)));
  const auto answer = answer_of([&] { return emulators::Fd{.fd = support::named_fd("given")}; });
  placement::place_self(cpus);
  EXPECT_EQ(answer->value, listener_.added_fds().back().number);
  EXPECT_EQ(verdicts(VerdictKind::kFd), 1U);
  EXPECT_EQ(route(0).calls, 1U);
}

TEST_F(ServerTest, ADescriptorThatDoesNotFitIsTheCallersErrno) {
  listener_.fail_add_fd(EMFILE);
  const auto answer = answer_of([] { return emulators::Fd{.fd = support::named_fd("given")}; });
  EXPECT_EQ(answer->errno_value, EMFILE);
  EXPECT_EQ(answer->value, 0);
}

TEST_F(ServerTest, AFailureOfOursIsEioAndIsReportedAndCounted) {
  EXPECT_EQ(answer_of([] { return failure("the disk is full"); })->errno_value, EIO);
  EXPECT_THAT(reports_, ElementsAre("the disk is full"));
  EXPECT_EQ(route(0).failures, 1U);
  EXPECT_EQ(verdicts(VerdictKind::kErrno), 1U);
}

TEST_F(ServerTest, ACallerThatHasGoneIsNotAnswered) {
  for (const Errno looked : {Errno{ESRCH}, Errno{0}}) {
    std::uint64_t id = 0;
    const Scripted emulator([&](emulators::Environment&) -> Outcome {
      listener_.kill_caller(id);
      if (looked.value == 0) return emulators::Gone{};
      return looked;
    });
    const PendingCall call = receive_for(emulator);
    id = call.notification.id;
    server_.serve(call, nullptr);
    EXPECT_FALSE(listener_.answer_to(id));
  }
  EXPECT_EQ(statistics_.header().stale, 2U);
  EXPECT_EQ(route(0).calls, 2U);
  EXPECT_EQ(verdicts(VerdictKind::kGone), 2U);
  EXPECT_EQ(verdicts(VerdictKind::kErrno), 0U);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(ServerTest, ACallerThatGoesBeforeItsAnswerIsCountedAndTheNextIsServed) {
  std::uint64_t id = 0;
  const Scripted emulator([&](emulators::Environment&) -> Outcome {
    listener_.kill_caller(id);
    return emulators::Value{1};
  });
  const PendingCall call = receive_for(emulator);
  id = call.notification.id;
  server_.serve(call, nullptr);
  EXPECT_EQ(statistics_.header().stale, 1U);
  EXPECT_EQ(verdicts(VerdictKind::kValue), 1U);
  EXPECT_TRUE(answer_of([] { return emulators::Value{2}; }));
  EXPECT_EQ(statistics_.header().stale, 1U);
}

TEST_F(ServerTest, EsrchIsAnAnswerToACallerThatStillWaits) {
  EXPECT_EQ(answer_of([] { return Errno{ESRCH}; })->errno_value, ESRCH);
  EXPECT_EQ(statistics_.header().stale, 0U);
}

// Never success: nothing was done for it.
TEST_F(ServerTest, ACallerOutOfReachIsLeftToTheKernel) {
  const auto answer = answer_of([] { return Errno{kernel::kOutOfReach}; });
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->proceed);
  EXPECT_EQ(verdicts(VerdictKind::kContinue), 1U);
}

TEST_F(ServerTest, ACallerThatIsCalledGoneAndStillWaitsGetsAnError) {
  EXPECT_EQ(answer_of([] { return emulators::Gone{}; })->errno_value, EIO);
}

TEST_F(ServerTest, AnEmulatorIsGivenTheTargetTheSandboxAndWhatToActWith) {
  const Acting acting{.actor = std::make_unique<support::FakeActor>(),
                      .helper = std::make_unique<support::FakeHelper>()};
  const Scripted emulator([&](emulators::Environment& environment) -> Outcome {
    EXPECT_EQ(&environment.target, &targets_.target);
    EXPECT_EQ(environment.actor, acting.actor.get());
    EXPECT_NE(environment.helper, nullptr);
    EXPECT_EQ(&environment.sandbox, &sandbox_);
    return emulators::Value{0};
  });
  server_.serve(receive_for(emulator), &acting);
}

}  // namespace
}  // namespace sidecall::worker
