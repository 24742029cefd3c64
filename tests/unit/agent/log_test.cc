#include "agent/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(Log, TextIsKeysAndValues) {
  const CapturedLog captured;
  captured.log().warn("a listener came", {{"sandbox", "web-1"}, {"cause", "it = \"odd\""}});
  EXPECT_THAT(captured.text(),
              MatchesRegex("time=[^ ]+ level=warning msg=\"a listener came\" sandbox=web-1 "
                           "cause=\"it = \\\\\"odd\\\\\"\"\n"));
}

TEST(Log, JsonIsOneObjectALine) {
  const CapturedLog captured(LogFormat::kJson);
  captured.log().info("up", {{"sandbox", "web\\\"1"}});
  EXPECT_THAT(captured.text(), MatchesRegex("\\{\"time\":\"[^\"]+\",\"level\":\"info\",\"msg\":"
                                            "\"up\",\"sandbox\":\"web\\\\\\\\\\\\\"1\"\\}\n"));
}

TEST(Log, WhateverAValueHoldsTheLineStaysOne) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    const CapturedLog captured(format);
    captured.log().error("x", {{"cause", "first\nlevel=info msg=forged\x1b[0m\xff"}});
    const std::string text = captured.text();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    EXPECT_THAT(text, HasSubstr("first\\u000alevel=info msg=forged\\u001b[0m\\u00ff"));
  }
}

TEST(Log, TheJournalGetsPrioritiesAndNoTime) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    const auto stream = std::make_shared<std::ostringstream>();
    const Log log(format, LogLevel::kDebug,
                  std::make_shared<spdlog::sinks::ostream_sink_mt>(*stream), true);
    log.error("a", {{"k", "v"}});
    log.warn("b");
    log.info("c");
    log.debug("d");
    EXPECT_EQ(stream->str(), format == LogFormat::kText
                                 ? "<3>msg=\"a\" k=v\n<4>msg=\"b\"\n<6>msg=\"c\"\n<7>msg=\"d\"\n"
                                 : "<3>{\"msg\":\"a\",\"k\":\"v\"}\n<4>{\"msg\":\"b\"}\n"
                                   "<6>{\"msg\":\"c\"}\n<7>{\"msg\":\"d\"}\n");
  }
}

TEST(Log, ASandboxDoesNotFillItAndTheOthersAreHeard) {
  const CapturedLog captured;
  for (int line = 0; line < 1000; ++line) captured.log().info("noise", {{"sandbox", "loud"}});
  captured.log().info("word", {{"sandbox", "quiet"}});
  captured.log().info("ours");
  const std::string text = captured.text();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 300);
  EXPECT_THAT(text, HasSubstr("msg=\"word\" sandbox=quiet"));
  EXPECT_THAT(text, HasSubstr("msg=\"ours\""));
}

TEST(Log, AuditRecordsAreWrittenWhateverTheLevelIs) {
  const CapturedLog captured(LogFormat::kText, LogLevel::kError);
  captured.log().audit("privileged step", {{"sandbox", "web"}, {"what", "node\nc 1:3"}});
  EXPECT_THAT(captured.text(),
              HasSubstr("msg=\"privileged step\" sandbox=web what=\"node\\u000ac 1:3\"\n"));
}

TEST(Log, WhatIsBelowTheLevelIsLeftOut) {
  const CapturedLog captured(LogFormat::kText, LogLevel::kWarn);
  captured.log().info("quiet");
  captured.log().warn("loud");
  EXPECT_FALSE(captured.has("quiet"));
  EXPECT_TRUE(captured.has("loud"));
}

TEST(OneLine, ReplacesWhatIsNotPrintable) {
  EXPECT_EQ(one_line("a\nb\tc\xc3\xa4"), "a?b?c??");
}

}  // namespace
}  // namespace sidecall::agent
