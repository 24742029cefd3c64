#include "worker/journal.h"

#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace sidecall::worker {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  static std::vector<std::byte> notification(std::uint64_t id, unsigned char filling = 7) {
    std::vector<std::byte> bytes(80, std::byte{filling});
    std::memcpy(bytes.data(), &id, sizeof id);
    return bytes;
  }
  std::array<JournalSlot, 4> slots_{};
  std::atomic<std::uint32_t> used_{0};
  Journal journal_{slots_, used_};
};

TEST_F(JournalTest, GivesEachSlotOnceAndNoneWhenAllAreTaken) {
  JournalSlot* first = journal_.take(1);
  ASSERT_NE(first, nullptr);
  for (int rest = 0; rest < 3; ++rest) EXPECT_NE(journal_.take(1), nullptr);
  EXPECT_EQ(journal_.take(1), nullptr);
  Journal::release(*first);
  EXPECT_EQ(journal_.take(2), first);
  EXPECT_EQ(used_, 4U);
}

TEST_F(JournalTest, WhatIsRecordedIsUnfinishedUntilItIsReleased) {
  JournalSlot* slot = journal_.take(5);
  EXPECT_TRUE(journal_.unfinished(5).empty());
  Journal::record(*slot, notification(42));
  EXPECT_EQ(journal_.unfinished(5), std::vector{slot});
  EXPECT_TRUE(journal_.unfinished(6).empty()) << "another listener's";
  EXPECT_EQ(slot->id(), 42U);
  EXPECT_EQ(slot->notification[79], std::byte{7});
  Journal::release(*slot);
  EXPECT_TRUE(journal_.unfinished(5).empty());
}

TEST_F(JournalTest, ACallOnRecordTwiceIsFinishedOnce) {
  Journal::record(*journal_.take(5), notification(42));
  Journal::record(*journal_.take(5), notification(42));
  Journal::record(*journal_.take(5), notification(43));
  const auto unfinished = journal_.unfinished(5);
  ASSERT_EQ(unfinished.size(), 2U);
  EXPECT_EQ(unfinished[0]->id(), 42U);
  EXPECT_EQ(unfinished[1]->id(), 43U);
}

TEST_F(JournalTest, ASuccessorFreesWhatHeldNoCallAndKeepsWhatDid) {
  JournalSlot* idle = journal_.take(5);
  JournalSlot* busy = journal_.take(5);
  busy->acting = 1;
  Journal::record(*busy, notification(42));
  Journal successor(slots_, used_);
  successor.begin();
  EXPECT_EQ(successor.take(5), idle);
  const auto unfinished = successor.unfinished(5);
  ASSERT_EQ(unfinished, std::vector{busy});
  EXPECT_EQ(busy->acting, 1U);
}

TEST_F(JournalTest, DeathsAreBlamedOnCallsThatHadBegun) {
  JournalSlot* idle = journal_.take(5);
  JournalSlot* queued = journal_.take(5);
  JournalSlot* acting = journal_.take(5);
  Journal::record(*queued, notification(42));
  Journal::record(*acting, notification(43));
  acting->acting = 1;
  journal_.blame(true);
  EXPECT_FALSE(acting->is_poisonous());
  acting->left = 0;  // a successor has come to it
  journal_.blame(true);
  EXPECT_TRUE(acting->is_poisonous());
  EXPECT_EQ(queued->blame, 0U);
  EXPECT_EQ(idle->blame, 0U);
}

TEST_F(JournalTest, AWorkerThatNeverCameToACallDidNotDieOfIt) {
  JournalSlot* acting = journal_.take(5);
  Journal::record(*acting, notification(43));
  acting->acting = 1;
  for (int deaths = 0; deaths < 9; ++deaths) journal_.blame(true);
  EXPECT_FALSE(acting->is_poisonous());
}

TEST_F(JournalTest, ACallThatIsQueuedAgainHasNotBegun) {
  JournalSlot* slot = journal_.take(5);
  Journal::record(*slot, notification(42));
  slot->acting = 1;
  Journal::requeue(*slot);
  EXPECT_FALSE(slot->is_begun());
  journal_.blame(true);
  EXPECT_EQ(slot->blame, 0U);
}

TEST_F(JournalTest, AnActingMarkDoesNotOutliveItsCall) {
  JournalSlot* slot = journal_.take(5);
  slot->acting = 1;
  Journal::release(*slot);
  EXPECT_EQ(journal_.take(5)->acting, 0U);
}

}  // namespace
}  // namespace sidecall::worker
