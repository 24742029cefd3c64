#include "worker/actor_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "support/fake_actor.h"

namespace sidecall::worker {
namespace {

Result<Acting> fake_acting() {
  return Acting{.actor = std::make_unique<support::FakeActor>(), .helper = nullptr};
}

PoolLimits of(std::size_t threads) {
  return {.usual = threads, .most = threads};
}

void submit(ActorPool& pool, std::function<void(const Acting&)> serve) {
  EXPECT_TRUE(pool.submit({.serve = std::move(serve), .refuse = [] { FAIL() << "refused"; }}));
}

TEST(ActorPool, AWorkThatSleepsHoldsNoOtherBack) {
  std::latch release(1);
  std::latch done(1);
  ActorPool pool(of(2), fake_acting);
  submit(pool, [&](const Acting&) { release.wait(); });
  submit(pool, [&](const Acting&) { done.count_down(); });
  done.wait();  // for ever, if the second waited for the first
  release.count_down();
}

TEST(ActorPool, NeverHasMoreThreadsThanItMay) {
  constexpr int kMost = 3;
  constexpr int kWorks = 60;
  std::atomic<int> actors = 0;
  std::atomic<int> works = 0;
  {
    ActorPool pool(of(kMost), [&] {
      ++actors;
      return fake_acting();
    });
    for (int work = 0; work < kWorks; ++work) {
      submit(pool, [&](const Acting&) { ++works; });
    }
  }
  EXPECT_EQ(works, kWorks);
  EXPECT_GE(actors, 1);
  EXPECT_LE(actors, kMost);
}

TEST(ActorPool, StartsAThreadForEachOfTheWorksThatAreBusy) {
  constexpr int kMost = 4;
  std::latch all_run(kMost);
  ActorPool pool(of(kMost), fake_acting);
  for (int work = 0; work < kMost; ++work) {
    submit(pool, [&](const Acting&) { all_run.arrive_and_wait(); });
  }
  all_run.wait();
}

TEST(ActorPool, StartsNoThreadBeforeThereIsWork) {
  std::atomic<int> actors = 0;
  {
    const ActorPool pool(of(8), [&] {
      ++actors;
      return fake_acting();
    });
  }
  EXPECT_EQ(actors, 0);
}

TEST(ActorPool, AnActorStaysOnItsThread) {
  std::mutex mutex;
  std::set<std::pair<kernel::Actor*, std::thread::id>> seen;
  std::set<kernel::Actor*> actors;
  {
    ActorPool pool(of(3), fake_acting);
    for (int work = 0; work < 100; ++work) {
      submit(pool, [&](const Acting& acting) {
        const std::lock_guard lock(mutex);
        seen.emplace(acting.actor.get(), std::this_thread::get_id());
        actors.insert(acting.actor.get());
      });
    }
  }
  EXPECT_FALSE(seen.empty());
  EXPECT_EQ(seen.size(), actors.size());
}

TEST(ActorPool, WhoHasWorkedLastIsAskedFirst) {
  constexpr auto kLongEnough = std::chrono::milliseconds(30);  // to be idle
  std::latch both_run(2);
  std::array<std::latch, 2> release{std::latch(1), std::latch(1)};
  std::array<kernel::Actor*, 2> actors{};
  std::vector<kernel::Actor*> later;
  {
    ActorPool pool(of(2), fake_acting);
    for (std::size_t work = 0; work < 2; ++work) {
      submit(pool, [&, work](const Acting& acting) {
        actors.at(work) = acting.actor.get();
        both_run.count_down();
        release.at(work).wait();
      });
    }
    both_run.wait();
    for (const std::size_t work : {1U, 0U}) {
      release.at(work).count_down();
      std::this_thread::sleep_for(kLongEnough);
    }
    for (int work = 0; work < 3; ++work) {
      submit(pool, [&](const Acting& acting) { later.push_back(acting.actor.get()); });
      std::this_thread::sleep_for(kLongEnough);
    }
  }
  EXPECT_EQ(later, std::vector<kernel::Actor*>(3, actors[0]));
}

TEST(ActorPool, ItsEndFinishesWhatIsQueued) {
  std::vector<int> order;
  {
    std::latch first_runs(1);
    std::latch release(1);
    ActorPool pool(of(1), fake_acting);
    submit(pool, [&](const Acting&) {
      first_runs.count_down();
      release.wait();
    });
    first_runs.wait();
    for (int work = 0; work < 10; ++work) {
      submit(pool, [&order, work](const Acting&) { order.push_back(work); });
    }
    release.count_down();
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

// What a work owns may do anything at its end: submit more, for one.
TEST(ActorPool, AWorkIsDestroyedWithoutTheLock) {
  std::latch done(1);
  ActorPool pool(of(1), fake_acting);
  std::shared_ptr<void> owned(
      nullptr, [&](void*) { submit(pool, [&](const Acting&) { done.count_down(); }); });
  submit(pool, [owned = std::move(owned)](const Acting&) {});
  done.wait();
}

TEST(ActorPool, TakesNoMoreThanItMay) {
  std::latch release(1);
  ActorPool pool({.usual = 1, .most = 1, .works = 3}, fake_acting);
  const auto is_taken = [&] {
    return pool.submit({.serve = [&](const Acting&) { release.wait(); }, .refuse = [] {}});
  };
  for (int works = 0; works < 3; ++works) EXPECT_TRUE(is_taken());
  EXPECT_FALSE(is_taken());
  release.count_down();
  while (!is_taken()) std::this_thread::yield();
}

TEST(ActorPool, FurtherThreadsComeWhereAllAreHeldUp) {
  constexpr int kHeldUp = 40;
  std::latch release(1);
  std::latch done(1);
  std::atomic<int> actors = 0;
  {
    ActorPool pool({.usual = 2, .most = kHeldUp + 1, .stall = std::chrono::milliseconds(5)}, [&] {
      ++actors;
      return fake_acting();
    });
    for (int work = 0; work < kHeldUp; ++work) {
      submit(pool, [&](const Acting&) { release.wait(); });
    }
    submit(pool, [&](const Acting&) { done.count_down(); });
    done.wait();  // for ever, if it waited for them
    release.count_down();
  }
  EXPECT_EQ(actors, kHeldUp + 1);
}

TEST(ActorPool, WhatWaitsTooLongIsRefused) {
  using std::chrono::milliseconds;
  std::latch release(1);
  std::latch refused(1);
  std::atomic<bool> served = false;
  {
    ActorPool pool(
        {.usual = 1, .most = 1, .stall = milliseconds(1), .longest_wait = milliseconds(50)},
        fake_acting);
    std::latch is_held_up(1);
    submit(pool, [&](const Acting&) {
      is_held_up.count_down();
      release.wait();
    });
    is_held_up.wait();
    EXPECT_TRUE(pool.submit(
        {.serve = [&](const Acting&) { served = true; }, .refuse = [&] { refused.count_down(); }}));
    refused.wait();
    release.count_down();
  }
  EXPECT_FALSE(served);
}

TEST(ActorPoolDeathTest, AThreadThatCannotActEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ActorPool pool(of(1), []() -> Result<Acting> { return failure("no such right"); });
        submit(pool, [](const Acting&) {});
      },
      "sidecall-worker: no such right");
}

}  // namespace
}  // namespace sidecall::worker
