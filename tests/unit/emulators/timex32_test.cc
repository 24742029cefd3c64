#include "emulators/timex32.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace sidecall::emulators {
namespace {

using Words = std::array<std::int32_t, 32>;

Timex32 of_words(const Words& words) {
  Timex32 timex{};
  std::memcpy(&timex, words.data(), sizeof timex);
  return timex;
}
Words words_of(const Timex32& timex) {
  Words words{};
  std::memcpy(words.data(), &timex, sizeof timex);
  return words;
}

constexpr std::size_t kTai = 20;

// Each word its own negative number: nothing is lost, mixed up or widened without its sign.
TEST(Timex32, EachFieldGoesThereAndBack) {
  Words words{};
  for (std::size_t at = 0; at <= kTai; ++at) words[at] = -1 - static_cast<std::int32_t>(at);
  const timex wide = widen(of_words(words));
  EXPECT_EQ(wide.modes, 0xffffffffU);
  EXPECT_EQ(wide.offset, -2);
  EXPECT_EQ(wide.time.tv_sec, -10);
  EXPECT_EQ(wide.time.tv_usec, -11);
  EXPECT_EQ(wide.stbcnt, -20);
  EXPECT_EQ(wide.tai, 0) << "the kernel does not take it from a caller";
  Words expected = words;
  expected[kTai] = 0;
  EXPECT_EQ(words_of(narrow(wide)), expected);
}

TEST(Timex32, WhatIsUnusedIsZeroedAndTaiTold) {
  timex wide{};
  wide.tai = 37;
  const Words words = words_of(narrow(wide));
  EXPECT_EQ(words[kTai], 37);
  for (std::size_t at = kTai + 1; at < words.size(); ++at) EXPECT_EQ(words[at], 0) << at;
}

TEST(Timex32, NumbersAreCutTo32Bits) {
  timex wide{};
  wide.maxerror = 0x1'0000'0007;
  wide.time.tv_sec = 0x1'8000'0000;
  EXPECT_EQ(narrow(wide).maxerror, 7);
  EXPECT_EQ(narrow(wide).seconds, INT32_MIN);
}

}  // namespace
}  // namespace sidecall::emulators
