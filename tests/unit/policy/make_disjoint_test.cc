#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/filter_rule.h"
#include "unit/policy/filter.h"

namespace sidecall::policy {
namespace {

using emulators::Compare;
using emulators::Condition;
using emulators::Conditions;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const FilterAction kAllow{"SCMP_ACT_ALLOW"};
const FilterAction kDeny{"SCMP_ACT_ERRNO", 1};
const FilterAction kNotify{"SCMP_ACT_NOTIFY"};

Condition compared(std::uint8_t index, Compare op, std::uint64_t value, std::uint64_t two = 0) {
  return {index, op, value, two};
}

std::vector<FilterRule> disjoint(const std::vector<FilterRule>& rules,
                                 const FilterAction& unwritten) {
  auto made = make_disjoint(rules, unwritten);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  return *std::move(made);
}

TEST(MakeDisjoint, WritesNothingWhereTheDefaultDecides) {
  EXPECT_TRUE(disjoint({{{}, kAllow}}, kAllow).empty());
  EXPECT_THAT(disjoint({{{}, kDeny}, {{}, kAllow}}, kAllow), ElementsAre(FilterRule{{}, kDeny}));
  // Conditions whose outcome is the same anyway are no conditions.
  EXPECT_TRUE(
      disjoint({{{compared(0, Compare::kEqual, 1)}, kAllow}, {{}, kAllow}}, kAllow).empty());
}

TEST(MakeDisjoint, TurnsTheOtherOutcomeIntoTheOppositeCondition) {
  EXPECT_THAT(disjoint({{{compared(2, Compare::kEqual, 5)}, kNotify}, {{}, kAllow}}, kDeny),
              UnorderedElementsAre(FilterRule{{compared(2, Compare::kEqual, 5)}, kNotify},
                                   FilterRule{{compared(2, Compare::kNotEqual, 5)}, kAllow}));
}

// mknod: devices but for whiteouts go to sidecall, over bases that allow and that refuse by
// default.
TEST(MakeDisjoint, CutsDeviceNodesOutOfMknod) {
  const Condition is_character = compared(1, Compare::kMaskedEqual, 0xf000, 0x2000);
  const Condition is_block = compared(1, Compare::kMaskedEqual, 0xf000, 0x6000);
  const Condition is_whiteout = compared(2, Compare::kEqual, 0);
  const Condition is_no_whiteout = compared(2, Compare::kNotEqual, 0);
  const std::vector<FilterRule> rules = {
      {{is_character, is_no_whiteout}, kNotify}, {{is_block}, kNotify}, {{}, kAllow}};
  EXPECT_THAT(disjoint(rules, kAllow),
              UnorderedElementsAre(FilterRule{{is_character, is_no_whiteout}, kNotify},
                                   FilterRule{{is_block}, kNotify}));
  // The fourteen other types take three patterns.
  EXPECT_THAT(disjoint(rules, kDeny),
              UnorderedElementsAre(
                  FilterRule{{is_character, is_no_whiteout}, kNotify},
                  FilterRule{{is_character, is_whiteout}, kAllow}, FilterRule{{is_block}, kNotify},
                  FilterRule{{compared(1, Compare::kMaskedEqual, 0x8000, 0x8000)}, kAllow},
                  FilterRule{{compared(1, Compare::kMaskedEqual, 0xa000, 0)}, kAllow},
                  FilterRule{{compared(1, Compare::kMaskedEqual, 0xb000, 0x3000)}, kAllow}));
}

TEST(MakeDisjoint, LeavesOneConditionPerRegister) {
  // 8..15 is one pattern, 3..5 is two.
  EXPECT_THAT(
      disjoint(
          {{{compared(0, Compare::kGreaterOrEqual, 8), compared(0, Compare::kLess, 16)}, kDeny},
           {{}, kAllow}},
          kAllow),
      ElementsAre(FilterRule{{compared(0, Compare::kMaskedEqual, ~std::uint64_t{7}, 8)}, kDeny}));
  for (const FilterRule& rule :
       disjoint({{{compared(3, Compare::kGreater, 2), compared(3, Compare::kLess, 6),
                   compared(0, Compare::kEqual, 1), compared(0, Compare::kNotEqual, 2)},
                  kDeny},
                 {{}, kAllow}},
                kAllow)) {
    ASSERT_EQ(rule.when.size(), 2U);
    EXPECT_EQ(rule.when[0], compared(0, Compare::kEqual, 1));
    EXPECT_EQ(rule.when[1].index, 3);
  }
}

TEST(MakeDisjoint, SaysWhatNoFilterCanExpress) {
  // Values of which any two differ in several bits: what is left between them is long.
  std::vector<FilterRule> many;
  for (std::uint64_t value = 1; value < 60; ++value) {
    many.push_back({{compared(0, Compare::kEqual, value * 1000003 % 65521)}, kDeny});
  }
  many.push_back({{}, kAllow});
  const auto refused = make_disjoint(many, kDeny);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 128 filter rules"));
  EXPECT_TRUE(make_disjoint(many, kAllow)) << "only the refused values take rules here";

  // Below a2 == 7 lies what the base does for a3 == 1 only; libseccomp would fall from there to the
  // comparison with 5.
  const std::vector<FilterRule> falling = {
      {{compared(2, Compare::kEqual, 7), compared(3, Compare::kEqual, 1)}, kNotify},
      {{compared(2, Compare::kEqual, 5)}, kNotify},
      {{}, kAllow}};
  const auto fallen = make_disjoint(falling, kAllow);
  ASSERT_FALSE(fallen);
  EXPECT_THAT(fallen.error().message, HasSubstr("libseccomp cannot decide"));

  const std::vector<FilterRule> wide = {
      {{compared(4, Compare::kEqual, std::uint64_t{1} << 40)}, kDeny}, {{}, kAllow}};
  const auto cut = make_disjoint(wide, kAllow);
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("register 4 with more than 32 bits"));
}

}  // namespace
}  // namespace sidecall::policy
