#include "kernel/id_map.h"

#include <gtest/gtest.h>

namespace sidecall::kernel {
namespace {

IdMap parsed(std::string_view text) {
  auto map = IdMap::parse(text);
  EXPECT_TRUE(map) << map.error().message;
  return map.value_or(IdMap());
}

TEST(IdMap, TranslatesBothWays) {
  // As the kernel pads it.
  const IdMap map = parsed("         0     100000      65536\n     70000          5          1\n");
  EXPECT_EQ(map.outside(0), 100'000U);
  EXPECT_EQ(map.outside(65'535), 165'535U);
  EXPECT_EQ(map.outside(65'536), std::nullopt);
  EXPECT_EQ(map.outside(70'000), 5U);
  EXPECT_EQ(map.inside(100'001), 1U);
  EXPECT_EQ(map.inside(165'536), std::nullopt);
  EXPECT_EQ(map.inside(99'999), std::nullopt);
  EXPECT_EQ(map.inside(5), 70'000U);
}

TEST(IdMap, KnowsItsFirstId) {
  EXPECT_EQ(parsed("1000 5 1\n7 100000 10\n").first_inside(), 7U);
  EXPECT_EQ(parsed("").first_inside(), std::nullopt);
}

TEST(IdMap, TheIdentityMapsEveryIdToItself) {
  EXPECT_EQ(IdMap::identity().outside(0), 0U);
  EXPECT_EQ(IdMap::identity().inside(4'294'967'294U), 4'294'967'294U);
  // (uid_t)-1 is no id.
  EXPECT_EQ(IdMap::identity().outside(4'294'967'295U), std::nullopt);
}

TEST(IdMap, RefusesWhatTheKernelDoesNotWrite) {
  for (const char* text : {"0 1\n", "0 1 2 3\n", "a 1 2\n", "0 1 -2\n", "0 1 4294967296\n", "\n"}) {
    EXPECT_FALSE(IdMap::parse(text)) << text;
  }
}

}  // namespace
}  // namespace sidecall::kernel
