#include "kernel/thread_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sidecall::kernel {
namespace {

class ThreadCacheTest : public testing::Test {
 protected:
  ThreadDirectory own() { return std::move(*ThreadDirectory::open(proc_.get(), ::gettid())); }

  const UniqueFd proc_{::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  ThreadCache cache_;
};

TEST_F(ThreadCacheTest, FindsWhatItKeeps) {
  EXPECT_EQ(cache_.find(1), nullptr);
  const ThreadDirectory& kept = cache_.keep(1, own());
  EXPECT_EQ(cache_.find(1), &kept);
  EXPECT_EQ(cache_.find(2), nullptr);
  EXPECT_EQ(cache_.find(0), nullptr) << "what is empty is nobody's";
}

TEST_F(ThreadCacheTest, OneOfANumberReplacesTheLast) {
  const ThreadDirectory* const first = &cache_.keep(1, own());
  EXPECT_EQ(&cache_.keep(1, own()), first);
}

TEST_F(ThreadCacheTest, WhatWasUsedTheLongestAgoGoes) {
  constexpr auto kMost = static_cast<pid_t>(ThreadCache::kMost);
  for (pid_t tid = 1; tid <= kMost; ++tid) cache_.keep(tid, own());
  EXPECT_NE(cache_.find(1), nullptr);
  cache_.keep(kMost + 1, own());
  EXPECT_NE(cache_.find(1), nullptr);
  EXPECT_EQ(cache_.find(2), nullptr);
  EXPECT_NE(cache_.find(kMost + 1), nullptr);
}

}  // namespace
}  // namespace sidecall::kernel
