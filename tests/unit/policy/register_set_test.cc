#include "policy/register_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sidecall::policy {
namespace {

using emulators::Compare;
using emulators::Condition;
using emulators::Conditions;

std::ptrdiff_t holding(const Conditions& alternatives, std::uint64_t value) {
  return std::count_if(alternatives.begin(), alternatives.end(), [&](const Condition& condition) {
    return emulators::holds(condition, {value});
  });
}

Conditions alternatives_where(const Conditions& conditions, bool below = true) {
  auto set = RegisterSet::everything();
  for (const Condition& condition : conditions) set = set.split(condition).inside;
  return set.alternatives(0, below);
}

const Condition kIsDevice = {0, Compare::kMaskedEqual, 0xf000, 0x2000};

TEST(RegisterSet, FindsTheShortForm) {
  const auto eq = [](std::uint64_t value) { return Condition{0, Compare::kEqual, value, 0}; };
  const Condition not_five = {0, Compare::kNotEqual, 5, 0};
  const Condition at_least_five = {0, Compare::kGreaterOrEqual, 5, 0};
  const Condition at_most_five = {0, Compare::kLessOrEqual, 5, 0};
  const Condition below_six = {0, Compare::kLess, 6, 0};
  EXPECT_EQ(alternatives_where({not_five}), Conditions{not_five});
  EXPECT_EQ(alternatives_where({at_least_five}), Conditions{at_least_five});
  EXPECT_EQ(alternatives_where({at_most_five}), Conditions{below_six});
  EXPECT_EQ(alternatives_where({at_most_five}, false),
            (Conditions{{0, Compare::kMaskedEqual, ~std::uint64_t{3}, 0},
                        {0, Compare::kMaskedEqual, ~std::uint64_t{1}, 4}}));
  EXPECT_EQ(alternatives_where({at_least_five, at_most_five}), Conditions{eq(5)});
  EXPECT_EQ(alternatives_where({kIsDevice}), Conditions{kIsDevice});
  EXPECT_EQ(alternatives_where({{0, Compare::kLess, 1, 0}}), Conditions{eq(0)});
  EXPECT_EQ(alternatives_where({{0, Compare::kGreater, UINT64_MAX - 1, 0}}),
            Conditions{eq(UINT64_MAX)});
  // The form that means the same where only the low 32 bits are compared.
  const Condition above_32_bits = {0, Compare::kGreater, UINT32_MAX, 0};
  EXPECT_EQ(alternatives_where({{0, Compare::kGreaterOrEqual, std::uint64_t{1} << 32, 0}}),
            Conditions{above_32_bits});
  const Condition within_32_bits = {0, Compare::kLessOrEqual, UINT32_MAX, 0};
  EXPECT_EQ(alternatives_where({{0, Compare::kLess, std::uint64_t{1} << 32, 0}}),
            Conditions{within_32_bits});
}

TEST(RegisterSet, OutsideOfABitPatternIsOnePiecePerBit) {
  const auto parts = RegisterSet::everything().split(kIsDevice);
  EXPECT_EQ(parts.inside.pieces(), 1U);
  EXPECT_EQ(parts.outside.pieces(), 4U);
}

TEST(RegisterSet, IsEmptyWhereNothingHolds) {
  const auto inside = [](const Condition& condition) {
    return RegisterSet::everything().split(condition).inside;
  };
  EXPECT_TRUE(inside({0, Compare::kLess, 0, 0}).empty());
  EXPECT_TRUE(inside({0, Compare::kGreater, UINT64_MAX, 0}).empty());
  EXPECT_TRUE(inside({0, Compare::kMaskedEqual, 1, 2}).empty());
  EXPECT_FALSE(inside({0, Compare::kMaskedEqual, 0, 0}).empty());
  EXPECT_TRUE(RegisterSet::everything().split({0, Compare::kMaskedEqual, 0, 0}).outside.empty());
  EXPECT_TRUE(RegisterSet::everything().split({0, Compare::kGreaterOrEqual, 0, 0}).outside.empty());
}

// Both sides of any row of cuts are what the conditions say, and their alternatives exclude each
// other.
TEST(RegisterSet, SplitsAsTheConditionsSay) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 3000; ++round) {
    Conditions conditions(1 + below(3));
    std::vector<std::uint64_t> samples = {0, 1, UINT32_MAX, UINT64_MAX, random()};
    for (Condition& condition : conditions) {
      condition = {0, static_cast<Compare>(below(7)), below(2) == 0 ? below(64) : random(), 0};
      if (condition.op == Compare::kMaskedEqual) condition.value_two = random() & condition.value;
      for (const auto value : {condition.value, condition.value_two}) {
        samples.insert(samples.end(), {value - 1, value, value + 1, value | (random() & ~value)});
      }
    }
    auto inside = RegisterSet::everything();
    RegisterSet outside;
    for (const Condition& condition : conditions) {
      const auto parts = inside.split(condition);
      inside = parts.inside;
      outside.unite(parts.outside);
    }
    if (inside.empty() || outside.empty()) continue;
    if (inside.pieces() + outside.pieces() > 512) continue;  // as make_disjoint() does
    const Conditions in = inside.alternatives(0, below(2) == 0);
    const Conditions out = outside.alternatives(0, below(2) == 0);
    for (const std::uint64_t sample : samples) {
      const bool holds = emulators::hold(conditions, {sample});
      ASSERT_EQ(holding(in, sample), holds ? 1 : 0) << "round " << round << ", " << sample;
      ASSERT_EQ(holding(out, sample), holds ? 0 : 1) << "round " << round << ", " << sample;
    }
  }
}

}  // namespace
}  // namespace sidecall::policy
