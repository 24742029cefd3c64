#include "agent/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
