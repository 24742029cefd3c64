#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/listener.h"

namespace sidecall::kernel {
namespace {

using testing::Each;
using testing::Eq;
using testing::SizeIs;

TEST(NotificationBuffer, HasTheSizesAskedForAndStartsZeroed) {
  NotificationBuffer buffer({.notification = 333, .response = 77});
  EXPECT_THAT(buffer.notification(), SizeIs(333));
  EXPECT_THAT(buffer.response(), SizeIs(77));
  EXPECT_THAT(buffer.notification(), Each(Eq(std::byte{0})));
  EXPECT_THAT(buffer.response(), Each(Eq(std::byte{0})));
}

TEST(NotificationBuffer, IsZeroedForEachReceive) {
  NotificationBuffer buffer({.notification = 4096, .response = 4096});
  std::ranges::fill(buffer.notification(), std::byte{0xff});
  EXPECT_THAT(buffer.notification(), Each(Eq(std::byte{0})));
}

TEST(NotificationBuffer, ItsTwoPartsAreApart) {
  NotificationBuffer buffer({.notification = 100, .response = 100});
  std::ranges::fill(buffer.response(), std::byte{0xff});
  EXPECT_THAT(buffer.notification(), Each(Eq(std::byte{0})));
  EXPECT_THAT(buffer.response(), Each(Eq(std::byte{0xff})));
}

TEST(NotificationSizes, AreNeverSmallerThanOurHeaders) {
  const auto sizes = notification_sizes();
  ASSERT_TRUE(sizes) << sizes.error().message;
  EXPECT_GE(sizes->notification, sizeof(seccomp_notif));
  EXPECT_GE(sizes->response, sizeof(seccomp_notif_resp));
}

}  // namespace
}  // namespace sidecall::kernel
