#include "bridge/settings.h"

#include <gtest/gtest.h>

namespace sidecall::bridge {
namespace {

TEST(BridgeSettings, ComeOverTheWireWholeOrNotAtAll) {
  const Settings settings{
      .sandbox = "web", .annotations = {{"a", "1"}, {"b", ""}}, .plugins = {"/one", "/two"}};
  const std::string whole = encode(settings);
  const auto decoded = decode_settings(whole);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->sandbox, "web");
  EXPECT_EQ(decoded->annotations, settings.annotations);
  EXPECT_EQ(decoded->plugins, settings.plugins);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode_settings(whole.substr(0, length))) << length;
  }
  EXPECT_FALSE(decode_settings(whole + "x"));
}

}  // namespace
}  // namespace sidecall::bridge
