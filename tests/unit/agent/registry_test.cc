// What the registry makes of hooks and listeners.
#include "agent/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/agent/registry_fixture.h"

namespace sidecall::agent {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RegistryTest, AListenerIsHandedOverOnceItsWorkerIsReady) {
  Pipe pipe;
  registry_->take(delivery_of(state_of("web"), pipe, 501));
  ASSERT_EQ(host_.workers.size(), 1U);
  EXPECT_EQ(host_.worker(0).sandbox, "web");
  loop_.settle();
  EXPECT_TRUE(host_.worker(0).handed.empty());
  host_.worker(0).ready();
  ASSERT_TRUE(loop_.run_until([&] { return !host_.worker(0).handed.empty(); }));
  EXPECT_THAT(host_.worker(0).handed, ElementsAre(Handed{1, 501, kFirstPid}));
  EXPECT_TRUE(is("web", SandboxState::kServing));
  EXPECT_EQ(view("web")->worker_pid, host_.worker(0).pid);
  EXPECT_EQ(view("web")->cpus, "0");
}

TEST_F(RegistryTest, PolicyIsTheMetadatasElseTheAnnotationsElseTheDefault) {
  host_.policies = {"a", "b", "default"};
  Pipe one;
  Pipe two;
  Pipe three;
  registry_->take(delivery_of(state_of("one", "a"), one, kFirstPid, "b"));
  registry_->take(delivery_of(state_of("two", "a"), two, kFirstPid));
  registry_->take(delivery_of(state_of("three"), three));
  EXPECT_EQ(host_.worker(0).policy, "b");
  EXPECT_EQ(host_.worker(1).policy, "a");
  EXPECT_EQ(host_.worker(2).policy, "default");
}

// crun names no process with a listener that comes of its exec.
TEST_F(RegistryTest, AListenerWithoutAPidIsTheKnownSandboxesOrNobodys) {
  Pipe first;
  serve("web", first);
  oci::State nameless = state_of("web");
  nameless.pid = 0;
  Pipe exec;
  registry_->take(delivery_of(nameless, exec, 0));
  EXPECT_EQ(host_.worker(0).handed.back(), (Handed{2, kFirstPid, kFirstPid}));
  nameless.id = "db";
  Pipe unknown;
  registry_->take(delivery_of(nameless, unknown, 0));
  EXPECT_TRUE(unknown.reader_gone());
  EXPECT_EQ(view("db"), nullptr);
}

TEST_F(RegistryTest, AListenerUnderAnUnknownPolicyIsClosedAndNobodyElseDisturbed) {
  Pipe good;
  serve("web", good);
  Pipe bad;
  registry_->take(delivery_of(state_of("db", "nowhere"), bad));
  EXPECT_TRUE(bad.reader_gone());
  EXPECT_TRUE(log_.has("listener dropped"));
  EXPECT_TRUE(log_.has("nowhere"));
  EXPECT_EQ(view("db"), nullptr);
  EXPECT_EQ(host_.workers.size(), 1U);
  EXPECT_TRUE(is("web", SandboxState::kServing));
  EXPECT_FALSE(good.reader_gone());
}

TEST_F(RegistryTest, AListenerWhoseWorkerCannotBeLaunchedIsClosed) {
  host_.launches = false;
  Pipe pipe;
  registry_->take(delivery_of(state_of("web"), pipe));
  EXPECT_TRUE(pipe.reader_gone());
  EXPECT_EQ(view("web"), nullptr);
}

TEST_F(RegistryTest, AnExecdProcessIsServedByTheSameWorkerUnderTheSamePolicy) {
  Pipe first;
  serve("web", first);
  Pipe second;
  // crun gives the exec'd process's pid as the state's, too.
  oci::State state = state_of("web");
  state.pid = 777;
  registry_->take(delivery_of(state, second, 777, "other"));
  EXPECT_EQ(host_.workers.size(), 1U);
  EXPECT_THAT(host_.worker(0).handed,
              ElementsAre(Handed{1, kFirstPid, kFirstPid}, Handed{2, 777, kFirstPid}));
  EXPECT_EQ(view("web")->listeners, 2U);
  EXPECT_EQ(view("web")->policy, "default");
}

TEST_F(RegistryTest, AClosedListenerIsLetGoAndTheLastEndsTheSandbox) {
  Pipe first;
  Pipe second;
  serve("web", first);
  registry_->take(delivery_of(state_of("web"), second));
  host_.worker(0).close_listener(2);
  ASSERT_TRUE(loop_.run_until([&] { return second.reader_gone(); }));
  EXPECT_FALSE(host_.worker(0).finished);
  host_.worker(0).close_listener(1);
  ASSERT_TRUE(loop_.run_until([&] { return host_.worker(0).finished; }));
  EXPECT_TRUE(first.reader_gone());
  EXPECT_TRUE(is("web", SandboxState::kEnding));
  host_.worker(0).exit();
  EXPECT_TRUE(loop_.run_until([&] { return view("web") == nullptr; }));
  EXPECT_FALSE(host_.worker(0).killed);
}

TEST_F(RegistryTest, AWorkerThatDoesNotEndIsKilled) {
  begin({.end_grace = milliseconds{5}});
  Pipe pipe;
  serve("web", pipe);
  host_.worker(0).close_listener(1);
  EXPECT_TRUE(loop_.run_until([&] { return view("web") == nullptr; }));
  EXPECT_TRUE(host_.worker(0).killed);
}

TEST_F(RegistryTest, ANewContainerMayTakeTheIdOfOneThatIsEnding) {
  Pipe first;
  serve("web", first);
  host_.worker(0).close_listener(1);
  ASSERT_TRUE(loop_.run_until([&] { return host_.worker(0).finished; }));
  Pipe second;
  serve("web", second);
  EXPECT_EQ(host_.workers.size(), 2U);
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return board_.read()->sandboxes.size() == 1; }));
  EXPECT_EQ(view("web")->worker_pid, host_.worker(1).pid);
}

TEST_F(RegistryTest, ANewContainerMayTakeTheIdBeforeTheWorkerHasReportedTheEndOfTheOld) {
  Pipe first;
  serve("web", first);
  first.write.reset();  // its last user has exited
  expect(state_of("web"));
  EXPECT_EQ(host_.workers.size(), 2U);
  EXPECT_TRUE(host_.worker(0).finished);
  host_.worker(1).ready();
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_EQ(answers_.front(), "ok");
}

TEST_F(RegistryTest, TheHookIsAnsweredOnceTheWorkerIsReady) {
  expect(state_of("web", "other"));
  EXPECT_TRUE(is("web", SandboxState::kExpected));
  EXPECT_EQ(host_.worker(0).policy, "other");
  loop_.settle();
  EXPECT_TRUE(answers_.empty());
  host_.worker(0).ready();
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_EQ(answers_.front(), "ok");
  Pipe pipe;
  registry_->take(delivery_of(state_of("web", "other"), pipe));
  EXPECT_EQ(host_.workers.size(), 1U);
  EXPECT_THAT(host_.worker(0).handed, ElementsAre(Handed{1, kFirstPid, kFirstPid}));
}

TEST_F(RegistryTest, TheHookIsToldOfABadPolicyAndNothingIsLeft) {
  expect(state_of("web", "nowhere"));
  EXPECT_THAT(answers_, ElementsAre(HasSubstr("no policy \"nowhere\"")));
  EXPECT_EQ(view("web"), nullptr);
  EXPECT_TRUE(host_.workers.empty());
}

TEST_F(RegistryTest, TheHookIsToldOfAWorkerThatCannotBeLaunched) {
  host_.launches = false;
  expect(state_of("web"));
  EXPECT_THAT(answers_, ElementsAre("starting a worker: no such program"));
  EXPECT_EQ(view("web"), nullptr);
}

TEST_F(RegistryTest, TheHookIsToldOfAWorkerThatDiesBeforeItIsReadyAndNothingIsLeft) {
  expect(state_of("web"));
  host_.worker(0).report(worker::WorkerReport::Kind::kMessage);
  host_.worker(0).exit();
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_THAT(answers_.front(), HasSubstr("died before it was ready (exit status 3)"));
  EXPECT_TRUE(log_.has("its last words"));
  EXPECT_TRUE(loop_.run_until([&] { return view("web") == nullptr; }));
  EXPECT_EQ(host_.workers.size(), 1U);
}

TEST_F(RegistryTest, TheHookIsToldOfAWorkerThatNeverBecomesReady) {
  begin({.ready = milliseconds{5}});
  expect(state_of("web"));
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_THAT(answers_.front(), HasSubstr("signal 9"));
  EXPECT_TRUE(log_.has("it did not become ready"));
}

TEST_F(RegistryTest, ASecondAnnouncementReplacesTheFirst) {
  expect(state_of("web"));
  expect(state_of("web"));
  EXPECT_EQ(host_.workers.size(), 2U);
  EXPECT_TRUE(host_.worker(0).finished);
  EXPECT_THAT(answers_, ElementsAre(HasSubstr("ended before its worker was ready")));
}

TEST_F(RegistryTest, AnIdThatIsBeingServedCannotBeAnnounced) {
  Pipe pipe;
  serve("web", pipe);
  expect(state_of("web"));
  EXPECT_THAT(answers_, ElementsAre(HasSubstr("container web is being served already")));
  EXPECT_TRUE(is("web", SandboxState::kServing));
  EXPECT_EQ(host_.workers.size(), 1U);
}

TEST_F(RegistryTest, AListenerOfAnotherPolicyThanAnnouncedGetsAWorkerOfItsOwnPolicy) {
  expect(state_of("web"));
  host_.worker(0).ready();
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  Pipe pipe;
  registry_->take(delivery_of(state_of("web"), pipe, kFirstPid, "other"));
  ASSERT_EQ(host_.workers.size(), 2U);
  EXPECT_TRUE(host_.worker(0).finished);
  EXPECT_EQ(host_.worker(1).policy, "other");
}

TEST_F(RegistryTest, PoststopRemovesAnExpectedOneAndLeavesAServedOne) {
  Pipe pipe;
  serve("served", pipe);
  expect(state_of("expected"));
  registry_->forget(state_of("served"));
  registry_->forget(state_of("expected"));
  registry_->forget(state_of("unknown"));
  EXPECT_TRUE(is("served", SandboxState::kServing));
  EXPECT_FALSE(host_.worker(0).finished);
  EXPECT_TRUE(host_.worker(1).finished);
  host_.worker(1).exit();
  EXPECT_TRUE(loop_.run_until([&] { return view("expected") == nullptr; }));
}

TEST_F(RegistryTest, AnExpectedOneWhoseProcessHasGoneIsDiscarded) {
  begin({.expected = milliseconds{5}});
  expect(state_of("web"));
  host_.worker(0).ready();
  ASSERT_TRUE(loop_.run_until([&] { return !answers_.empty(); }));
  EXPECT_TRUE(is("web", SandboxState::kExpected));
  host_.dead_pids.insert(kFirstPid);
  EXPECT_TRUE(loop_.run_until([&] { return host_.worker(0).finished; }));
}

TEST_F(RegistryTest, TheWorkerFollowsTheCpusOfItsSandbox) {
  Pipe pipe;
  serve("web", pipe);
  loop_.settle();
  EXPECT_TRUE(host_.placed.empty());
  host_.cpus = "1-2";
  ASSERT_TRUE(loop_.run_until([&] { return !host_.placed.empty(); }));
  loop_.settle();
  EXPECT_THAT(host_.placed, ElementsAre(std::pair(host_.worker(0).pid, std::string("1-2"))));
  EXPECT_EQ(view("web")->cpus, "1-2");
  EXPECT_TRUE(log_.has("worker moved with its sandbox"));
}

TEST_F(RegistryTest, TheWorkerIsPutIntoTheCgroupOfItsSandboxAtOnce) {
  host_.cgroup = "/sys/fs/cgroup/cpu/web";
  Pipe pipe;
  serve("web", pipe);
  EXPECT_THAT(host_.placed, ElementsAre(std::pair(host_.worker(0).pid, std::string("0"))));
}

TEST_F(RegistryTest, CpusThatTheWorkerCannotHaveAreTriedOnce) {
  host_.places = false;
  Pipe pipe;
  serve("web", pipe);
  host_.cpus = "7";
  ASSERT_TRUE(loop_.run_until([&] { return log_.has("worker not moved"); }));
  loop_.settle();
  EXPECT_EQ(host_.placed.size(), 1U);
  EXPECT_EQ(view("web")->cpus, "0");
}

TEST_F(RegistryTest, WhileTheNodeIsDrainedNewContainersAreRefusedAndOldOnesServed) {
  DrainSwitch drain(directory_ / "draining");
  options_.drain = &drain;
  begin();
  Pipe first;
  serve("web", first);
  ASSERT_TRUE(drain.set(true));
  expect(state_of("db"));
  EXPECT_THAT(answers_, ElementsAre(HasSubstr("sidecall drain --undo")));
  EXPECT_EQ(view("db"), nullptr);
  Pipe exec;
  registry_->take(delivery_of(state_of("web"), exec, 502));
  EXPECT_EQ(view("web")->listeners, 2U);
  ASSERT_TRUE(drain.set(false));
  expect(state_of("db"));
  EXPECT_TRUE(is("db", SandboxState::kExpected));
}

TEST_F(RegistryTest, TheSnapshotIsInTheOrderOfArrival) {
  expect(state_of("zebra"));
  expect(state_of("ant"));
  const auto snapshot = board_.read();
  ASSERT_EQ(snapshot->sandboxes.size(), 2U);
  EXPECT_EQ(snapshot->sandboxes.at(0)->id, "zebra");
  EXPECT_EQ(snapshot->sandboxes.at(1)->id, "ant");
}

}  // namespace
}  // namespace sidecall::agent
