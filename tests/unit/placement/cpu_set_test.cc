#include "placement/cpu_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace sidecall::placement {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CpuSet cpus(std::string_view list) {
  auto set = CpuSet::parse(list);
  EXPECT_TRUE(set) << set.error().message;
  return set.value_or(CpuSet());
}

TEST(CpuSet, ReadsTheKernelsLists) {
  const CpuSet set = cpus("0-2,8,10-11\n");
  EXPECT_EQ(set.count(), 6);
  for (const unsigned cpu : {0U, 1U, 2U, 8U, 10U, 11U})
    EXPECT_TRUE(CPU_ISSET(cpu, &set.mask())) << cpu;
}

TEST(CpuSet, WritesRangesInOrder) {
  EXPECT_EQ(cpus("11,3,0-2,10,8").list(), "0-3,8,10-11");
  EXPECT_EQ(cpus("5,5,4-6").list(), "4-6");
  EXPECT_EQ(cpus(" \t7-7 \n").list(), "7");
}

TEST(CpuSet, AnEmptyListIsTheEmptySet) {
  for (const std::string_view list : {"", "\n", "  "}) {
    EXPECT_TRUE(cpus(list).empty());
    EXPECT_EQ(cpus(list).list(), "");
  }
}

TEST(CpuSet, HoldsAsManyAsItSays) {
  EXPECT_EQ(cpus("0-1023").count(), CPU_SETSIZE);
  EXPECT_EQ(cpus("0-1023").list(), "0-1023");
  EXPECT_EQ(cpus("1023").list(), "1023");
}

TEST(CpuSet, RefusesWhatIsNoListAndQuotesIt) {
  for (const std::string_view bad :
       {"x", "-1", "1-", "-", "1-0", "1,,2", "1,", ",1", "1 2", "1, 2", "+1", "0x1", "1024",
        "0-1024", "99999999999999999999", "1-99999999999999999999", "1--2", "1-2-3", "0-7:1/2"}) {
    const auto set = CpuSet::parse(bad);
    ASSERT_FALSE(set) << bad;
    EXPECT_THAT(set.error().message,
                AllOf(HasSubstr("\"" + std::string(bad) + "\""), HasSubstr("such as 0-3,8")));
  }
}

TEST(CpuSet, QuotesNoMoreThanTheStartOfALongText) {
  EXPECT_THAT(CpuSet::parse(std::string(5000, 'x')).error().message.size(), testing::Lt(200U));
}

TEST(CpuSet, Intersects) {
  EXPECT_EQ(cpus("0-3").intersection(cpus("2-5")).list(), "2-3");
  EXPECT_TRUE(cpus("0-3").intersection(cpus("4")).empty());
  EXPECT_TRUE(cpus("1") == cpus("1-1"));
  EXPECT_FALSE(cpus("1") == cpus("1-2"));
}

TEST(CpuSet, RandomSetsRoundTrip) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (random() % 3 == 0) CPU_SET(cpu, &mask);
    }
    const CpuSet set(mask);
    EXPECT_TRUE(cpus(set.list()) == set) << set.list();
  }
}

}  // namespace
}  // namespace sidecall::placement
