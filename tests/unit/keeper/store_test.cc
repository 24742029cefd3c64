#include "keeper/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace sidecall::keeper {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using Kind = Label::Kind;

// The read end hangs up with the write end, as a listener does with its last user.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::abort();
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

TEST(Store, ALabelHoldsTheLastThatWasPut) {
  Store store;
  Pipe first;
  Pipe second;
  store.put({.sandbox = 1, .kind = Kind::kControl, .pid = 5}, std::move(first.read));
  const int kept = second.read.get();
  store.put({.sandbox = 1, .kind = Kind::kControl, .pid = 6}, std::move(second.read));
  ASSERT_THAT(store.items(), SizeIs(1));
  EXPECT_EQ(store.items()[0].fd.get(), kept);
  EXPECT_EQ(store.items()[0].label.pid, 6);
}

TEST(Store, DropTakesOneAndForgetAllOfASandbox) {
  Store store;
  for (const std::uint64_t sandbox : {1U, 2U}) {
    for (const std::uint64_t tag : {1U, 2U}) {
      store.put({.sandbox = sandbox, .tag = tag, .kind = Kind::kListener}, Pipe().read);
    }
  }
  store.drop({.sandbox = 1, .tag = 2, .kind = Kind::kListener});
  EXPECT_THAT(store.items(), SizeIs(3));
  store.drop({.sandbox = 1, .tag = 1, .kind = Kind::kSocket});
  EXPECT_THAT(store.items(), SizeIs(3));
  store.forget(2);
  ASSERT_THAT(store.items(), SizeIs(1));
  EXPECT_EQ(store.items()[0].label.sandbox, 1U);
}

TEST(Store, ADesertedSandboxIsOneWhoseEveryListenerHasHungUp) {
  Store store;
  Pipe first;
  Pipe second;
  store.put({.sandbox = 1, .kind = Kind::kControl}, Pipe().read);
  store.put({.sandbox = 1, .tag = 1, .kind = Kind::kListener}, std::move(first.read));
  store.put({.sandbox = 1, .tag = 2, .kind = Kind::kListener}, std::move(second.read));
  first.write.reset();
  store.forget_deserted();
  EXPECT_THAT(store.items(), SizeIs(3));
  second.write.reset();
  store.forget_deserted();
  EXPECT_THAT(store.items(), IsEmpty());
}

TEST(Store, WithoutAListenerASandboxIsOnlyExpected) {
  Store store;
  store.put({.sandbox = 1, .kind = Kind::kControl}, Pipe().read);
  store.forget_deserted();
  EXPECT_TRUE(store.has_sandboxes());
}

TEST(Store, SocketsOfTheAgentAreNoSandbox) {
  Store store;
  store.put({.kind = Kind::kSocket}, Pipe().read);
  EXPECT_FALSE(store.has_sandboxes());
  EXPECT_THAT(store.items(), SizeIs(1));
}

}  // namespace
}  // namespace sidecall::keeper
