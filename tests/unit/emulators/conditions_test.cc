#include "emulators/conditions.h"

#include <gtest/gtest.h>

namespace sidecall::emulators {
namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};
constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63U;

bool compare(std::uint64_t arg, Compare op, std::uint64_t value, std::uint64_t value_two = 0) {
  return holds({.index = 0, .op = op, .value = value, .value_two = value_two}, {arg});
}

TEST(Condition, ComparesWholeRegistersAsUnsignedNumbers) {
  for (const std::uint64_t value : {std::uint64_t{1}, kTopBit, kMost - 1}) {
    const std::uint64_t below = value - 1;
    const std::uint64_t above = value + 1;
    EXPECT_EQ(compare(below, Compare::kLess, value), true);
    EXPECT_EQ(compare(value, Compare::kLess, value), false);
    EXPECT_EQ(compare(above, Compare::kLess, value), false);
    EXPECT_EQ(compare(below, Compare::kLessOrEqual, value), true);
    EXPECT_EQ(compare(value, Compare::kLessOrEqual, value), true);
    EXPECT_EQ(compare(above, Compare::kLessOrEqual, value), false);
    EXPECT_EQ(compare(below, Compare::kEqual, value), false);
    EXPECT_EQ(compare(value, Compare::kEqual, value), true);
    EXPECT_EQ(compare(below, Compare::kNotEqual, value), true);
    EXPECT_EQ(compare(value, Compare::kNotEqual, value), false);
    EXPECT_EQ(compare(below, Compare::kGreaterOrEqual, value), false);
    EXPECT_EQ(compare(value, Compare::kGreaterOrEqual, value), true);
    EXPECT_EQ(compare(above, Compare::kGreaterOrEqual, value), true);
    EXPECT_EQ(compare(value, Compare::kGreater, value), false);
    EXPECT_EQ(compare(above, Compare::kGreater, value), true);
  }
}

TEST(Condition, TheUpperHalfCounts) {
  EXPECT_FALSE(compare(0x1'0000'0005, Compare::kEqual, 5));
  EXPECT_TRUE(compare(0x1'0000'0005, Compare::kMaskedEqual, 0xffff'ffff, 5));
}

TEST(Condition, AMaskComesBeforeItsValueAsInOci) {
  EXPECT_TRUE(compare(0b1110, Compare::kMaskedEqual, 0b0110, 0b0110));
  EXPECT_FALSE(compare(0b1010, Compare::kMaskedEqual, 0b0110, 0b0110));
  EXPECT_FALSE(compare(0b1110, Compare::kMaskedEqual, 0b0110, 0b1110));
  EXPECT_TRUE(compare(kMost, Compare::kMaskedEqual, 0, 0));
}

TEST(Condition, LooksAtItsOwnRegister) {
  for (std::uint8_t index = 0; index < 6; ++index) {
    std::array<std::uint64_t, 6> args{};
    args[index] = 7;
    for (std::uint8_t other = 0; other < 6; ++other) {
      EXPECT_EQ(holds({.index = other, .op = Compare::kEqual, .value = 7}, args), other == index);
    }
  }
}

TEST(Condition, ARegisterThatDoesNotExistNeverHolds) {
  EXPECT_FALSE(holds({.index = 6, .op = Compare::kEqual, .value = 0}, {}));
  EXPECT_FALSE(holds({.index = 255, .op = Compare::kNotEqual, .value = 1}, {}));
}

TEST(Condition, AnOperatorThatDoesNotExistNeverHolds) {
  EXPECT_FALSE(holds({.index = 0, .op = static_cast<Compare>(99), .value = 0}, {}));
}

TEST(Conditions, AllMustHoldAndNoneAlwaysDo) {
  const Conditions both = {{.index = 0, .value = 1}, {.index = 1, .value = 2}};
  EXPECT_TRUE(hold(both, {1, 2}));
  EXPECT_FALSE(hold(both, {1, 3}));
  EXPECT_FALSE(hold(both, {0, 2}));
  EXPECT_TRUE(hold({}, {}));
}

}  // namespace
}  // namespace sidecall::emulators
