#include "worker/event_ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <thread>

namespace sidecall::worker {
namespace {

EventRecord numbered(std::int64_t number) {
  return {.number = number};
}

class EventRingTest : public testing::Test {
 protected:
  static constexpr auto kSlots = static_cast<std::int64_t>(EventRing::kSlots);

  std::vector<std::int64_t> drained() {
    std::vector<std::int64_t> numbers;
    for (const EventRecord& record : ring_.drain()) numbers.push_back(record.number);
    return numbers;
  }

  std::unique_ptr<EventSlot[]> slots_ = std::make_unique<EventSlot[]>(EventRing::kSlots);
  EventRingState state_;
  EventRing ring_{{slots_.get(), EventRing::kSlots}, state_};
};

TEST_F(EventRingTest, GivesWhatWasWrittenInItsOrderOverAndOver) {
  for (std::int64_t round = 0; round < 5; ++round) {
    std::vector<std::int64_t> written(EventRing::kSlots - 3);
    std::iota(written.begin(), written.end(), round * 1000);
    for (const std::int64_t number : written) {
      EXPECT_NE(ring_.push(numbered(number)), EventRing::Pushed::kLost);
    }
    EXPECT_EQ(drained(), written);
  }
  EXPECT_TRUE(drained().empty());
  EXPECT_EQ(ring_.take_lost(), 0U);
}

TEST_F(EventRingTest, SaysWhenItIsHalfFullAndCountsWhatDoesNotFit) {
  int half_full = 0;
  for (std::int64_t number = 0; number < kSlots; ++number) {
    if (ring_.push(numbered(number)) == EventRing::Pushed::kHalfFull) ++half_full;
  }
  EXPECT_EQ(half_full, 1);
  EXPECT_EQ(ring_.push(numbered(-1)), EventRing::Pushed::kLost);
  EXPECT_EQ(ring_.push(numbered(-2)), EventRing::Pushed::kLost);
  const auto numbers = drained();
  ASSERT_EQ(numbers.size(), EventRing::kSlots);
  EXPECT_EQ(numbers.back(), kSlots - 1);
  EXPECT_EQ(ring_.take_lost(), 2U);
  EXPECT_EQ(ring_.take_lost(), 0U) << "told once";
  EXPECT_EQ(ring_.push(numbered(7)), EventRing::Pushed::kStored);
}

TEST_F(EventRingTest, AWriterThatDiedIsPassedOver) {
  ring_.push(numbered(1));
  state_.head.fetch_add(1);  // took its slot and wrote nothing
  ring_.push(numbered(3));
  EXPECT_EQ(drained(), (std::vector<std::int64_t>{1}));
  ring_.repair();
  const auto left = ring_.drain();
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].kind, EventRecord::Kind{});
  EXPECT_EQ(left[1].number, 3);
  EXPECT_EQ(ring_.take_lost(), 1U);
}

TEST_F(EventRingTest, ManyWritersLoseNothingThatIsNotCounted) {
  constexpr int kWriters = 4;
  constexpr std::int64_t kEach = 20'000;
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([this, writer] {
      for (std::int64_t number = 0; number < kEach; ++number) {
        ring_.push({.tid = writer, .number = number});
      }
    });
  }
  std::vector<std::int64_t> last(kWriters, -1);
  std::uint64_t seen = 0;
  std::uint64_t lost = 0;
  while (seen + lost < kWriters * kEach) {
    for (const EventRecord& record : ring_.drain()) {
      ASSERT_GT(record.number, last.at(static_cast<std::size_t>(record.tid)));
      last.at(static_cast<std::size_t>(record.tid)) = record.number;
      ++seen;
    }
    lost += ring_.take_lost();
  }
  EXPECT_EQ(seen + lost, static_cast<std::uint64_t>(kWriters * kEach));
}

TEST(EventRecordTest, ATextIsCutAndALengthIsNotBelieved) {
  EventRecord record;
  record.set_text(std::string(1000, 'x'));
  EXPECT_EQ(record.get_text().size(), EventRecord::kMostText);
  record.text_bytes = 1U << 30U;
  EXPECT_EQ(record.get_text().size(), EventRecord::kMostText);
}

}  // namespace
}  // namespace sidecall::worker
