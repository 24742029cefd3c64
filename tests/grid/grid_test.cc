// The harness of the grids itself: that it tells good from bad.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "grid/caller.h"
#include "grid/judge.h"
#include "grid/run_cases.h"
#include "gtest/gtest.h"
#include "support/temporary_directory.h"

namespace sidecall::grid {

// The program's own grid is of no interest here: cases are run one by one.
Grid grid() {
  return {};
}

namespace {

CaseResult run(void (*body)(const Checks&), Where where = Where::kEverywhere) {
  const support::TemporaryDirectory scratch;
  const Case one{"a case", Off::kFails, body, where};
  CaseResult result = run_case(one, Place::kNative, scratch.path());
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path())) << "the case's directory goes with it";
  return result;
}

TEST(RunCase, HoldsWhereEveryCheckDoes) {
  const CaseResult result = run([](const Checks& check) {
    check.gives("getpid", ::getpid(), ::getpid());
    check.succeeds("dup", ::dup(1));
    check.fails("close", ::close(-1), EBADF);
    check.holds("truth", true);
    check.arrange("nothing", true);
  });
  EXPECT_EQ(result.outcome, Outcome::kHeld) << result.detail;
  EXPECT_EQ(result.name, "a case");
}

TEST(RunCase, SaysWhatWasGotInsteadOfWhat) {
  const CaseResult result = run([](const Checks& check) {
    check.gives("close", ::close(-1), 0);
    check.fails("dup", ::dup(-1), EPERM);
    check.fails("getppid", ::access("/", F_OK), EPERM);
    check.holds("the\tend", false);
  });
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_EQ(result.detail,
            "close: EBADF instead of 0; dup: EBADF instead of EPERM; "
            "getppid: success instead of EPERM; the end: is not so");
}

TEST(RunCase, ShowsTheFirstFewOfManyFailures) {
  const CaseResult result = run([](const Checks& check) {
    for (int count = 0; count < 100; ++count) check.holds("one", false);
  });
  EXPECT_EQ(result.detail,
            "one: is not so; one: is not so; one: is not so; one: is not so; "
            "and 96 more");
}

TEST(RunCase, HearsThreadsAndChildren) {
  EXPECT_EQ(run([](const Checks& check) {
              in_thread([&] { check.holds("in a thread", false); });
              in_child(check, [&] { check.holds("in a child", false); });
            }).detail,
            "in a thread: is not so; in a child: is not so");
}

TEST(RunCase, IsBrokenWhereItCouldNotJudge) {
  for (const auto body : std::initializer_list<void (*)(const Checks&)>{
           [](const Checks& check) {
             check.holds("before", false);
             check.arrange("the impossible", false);
           },
           [](const Checks&) { ::raise(SIGSEGV); }, [](const Checks&) { ::_exit(3); },
           [](const Checks& check) { in_child(check, [] { ::raise(SIGKILL); }); },
           [](const Checks& check) {
             in_child(check, [&] { check.arrange("the impossible", false); });
           }}) {
    EXPECT_EQ(run(body).outcome, Outcome::kBroken);
  }
}

TEST(RunCase, IsSkippedWhereTheMachineLacksSomething) {
  const CaseResult result = run([](const Checks& check) { check.skip("no such machine"); });
  EXPECT_EQ(result.outcome, Outcome::kSkipped);
  EXPECT_EQ(result.detail, "no such machine");
}

TEST(RunCase, IsNotRunWhereItDoesNotApply) {
  const auto crash = [](const Checks&) { std::abort(); };
  EXPECT_EQ(run(crash, Where::kContainerOnly).outcome, Outcome::kNotApplicable);
  EXPECT_EQ(run(crash, Where::kNativeOnly).outcome, Outcome::kBroken);
}

TEST(Transcript, ComesBackFromItsText) {
  const CaseResult result{
      .outcome = Outcome::kFailed, .off = Off::kHolds, .name = "a name", .detail = "a: b"};
  const std::string text =
      to_text(result) + to_text({.outcome = Outcome::kNotApplicable, .name = "other"});
  const auto parsed = parse_transcript(text);
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), 2U);
  EXPECT_EQ(to_text(parsed->at(0)) + to_text(parsed->at(1)), text);
  EXPECT_EQ(parsed->at(0).detail, "a: b");
}

TEST(Transcript, IsRefusedWhereItIsCutOrForeign) {
  for (const char* text : {"held", "held\n", "held\tfails-off\tname\t", "held\tname\t\n",
                           "hold\tfails-off\tname\t\n", "held\tfails\tname\t\n", "\n"}) {
    EXPECT_FALSE(parse_transcript(text)) << text;
  }
}

// Two cases: "needs" is declared to fail off, "kernel" to hold there.
Transcript transcript(Outcome needs, Outcome kernel) {
  return {{.outcome = needs, .off = Off::kFails, .name = "needs"},
          {.outcome = kernel, .off = Off::kHolds, .name = "kernel"}};
}

Transcripts good() {
  return {.native = transcript(Outcome::kHeld, Outcome::kHeld),
          .off = transcript(Outcome::kFailed, Outcome::kHeld),
          .on = transcript(Outcome::kHeld, Outcome::kHeld)};
}

TEST(Judge, PrintsTheCountsInOneLine) {
  const Judgement judgement = judge("mknod", good());
  EXPECT_TRUE(judgement.good);
  EXPECT_EQ(judgement.text, "mknod: native 2/2, off 1/2, on 2/2, skipped 0\n");
}

TEST(Judge, WantsEachCaseToDoAsDeclared) {
  constexpr std::size_t kNeeds = 0;
  constexpr std::size_t kKernel = 1;
  const auto is_good = [](auto change) {
    Transcripts changed = good();
    change(changed);
    return judge("x", changed).good;
  };
  EXPECT_TRUE(is_good([](Transcripts&) {}));
  EXPECT_FALSE(is_good([](auto& all) { all.native[kNeeds].outcome = Outcome::kFailed; }));
  EXPECT_FALSE(is_good([](auto& all) { all.on[kNeeds].outcome = Outcome::kFailed; }));
  EXPECT_FALSE(is_good([](auto& all) { all.on[kKernel].outcome = Outcome::kFailed; }));
  EXPECT_FALSE(is_good([](auto& all) { all.off[kKernel].outcome = Outcome::kFailed; }));
  EXPECT_FALSE(is_good([](auto& all) { all.off[kNeeds].outcome = Outcome::kHeld; }));
  EXPECT_FALSE(is_good([](auto& all) { all.off[kNeeds].outcome = Outcome::kBroken; }));
  EXPECT_FALSE(is_good([](auto& all) { all.off[kKernel].outcome = Outcome::kBroken; }));
}

TEST(Judge, WantsADeclaredLimitToBeOne) {
  Transcripts limited = good();
  const auto add = [](Transcript& to, Outcome outcome) {
    to.push_back({.outcome = outcome, .off = Off::kLimit, .name = "limit"});
  };
  add(limited.native, Outcome::kHeld);
  add(limited.off, Outcome::kFailed);
  add(limited.on, Outcome::kFailed);
  EXPECT_TRUE(judge("x", limited).good);
  EXPECT_EQ(judge("x", limited).text, "x: native 3/3, off 1/3, on 2/3, skipped 0, limits 1\n");
  limited.off.back().outcome = Outcome::kHeld;
  EXPECT_TRUE(judge("x", limited).good);
  limited.off.back().outcome = Outcome::kBroken;
  EXPECT_FALSE(judge("x", limited).good);
  limited.off.back().outcome = Outcome::kHeld;
  limited.on.back().outcome = Outcome::kHeld;
  EXPECT_FALSE(judge("x", limited).good);
}

TEST(Judge, WantsEveryCaseInEveryPlace) {
  Transcripts cut = good();
  cut.on.pop_back();
  const Judgement judgement = judge("x", cut);
  EXPECT_FALSE(judgement.good);
  EXPECT_NE(judgement.text.find("ended before its last case"), std::string::npos);
  EXPECT_FALSE(judge("x", {}).good);
}

TEST(Judge, CountsSkipsAndWhatDoesNotApply) {
  Transcripts some = good();
  some.native[0].outcome = Outcome::kNotApplicable;
  some.off[1] = {.outcome = Outcome::kSkipped, .off = Off::kHolds, .name = "kernel", .detail = "y"};
  const Judgement judgement = judge("x", some);
  EXPECT_TRUE(judgement.good);
  EXPECT_EQ(judgement.text,
            "off: kernel: skipped: y\nx: native 1/1 (1 n/a), off 0/1, on 2/2, skipped 1\n");
}

TEST(Judge, WantsACaseThatShowsTheEmulator) {
  Transcripts skipped = good();
  skipped.on[0].outcome = Outcome::kSkipped;
  EXPECT_FALSE(judge("x", skipped).good);
}

}  // namespace
}  // namespace sidecall::grid
