#include "worker/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace sidecall::worker {
namespace {

using testing::HasSubstr;

// What is sent as bytes must be bytes, the same in both programs.
static_assert(std::is_trivially_copyable_v<ToWorker> && sizeof(ToWorker) == 24);
static_assert(std::is_trivially_copyable_v<FromWorker> && sizeof(FromWorker) == 512);
static_assert(std::has_unique_object_representations_v<ToWorker>);
static_assert(std::has_unique_object_representations_v<FromWorker>);

TEST(Protocol, MessagesArriveAsTheyWereSent) {
  const ToWorker sent{
      .kind = ToWorker::Kind::kFinish, .tag = 0x1234'5678'9abc, .pid = 7, .first_pid = 8};
  const auto arrived = message_from<ToWorker>(bytes_of(sent));
  ASSERT_TRUE(arrived) << arrived.error().message;
  EXPECT_EQ(arrived->kind, ToWorker::Kind::kFinish);
  EXPECT_EQ(arrived->tag, 0x1234'5678'9abcU);
  EXPECT_EQ(arrived->pid, 7);
  EXPECT_EQ(arrived->first_pid, 8);
}

TEST(Protocol, AnotherSizeIsRefused) {
  const std::string bytes(bytes_of(FromWorker{}));
  EXPECT_TRUE(message_from<FromWorker>(bytes));
  for (const std::string& other :
       {std::string(), bytes.substr(1), bytes + '\0', std::string(bytes_of(ToWorker{}))}) {
    EXPECT_THAT(message_from<FromWorker>(other).error().message, HasSubstr("wrong size"));
  }
}

TEST(Protocol, AnotherReleaseIsRefused) {
  const ToWorker other{.version = kProtocolVersion + 1};
  EXPECT_THAT(message_from<ToWorker>(bytes_of(other)).error().message,
              HasSubstr("another release"));
}

}  // namespace
}  // namespace sidecall::worker
