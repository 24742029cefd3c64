#include "cli/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::cli {
namespace {

using testing::HasSubstr;

TEST(CaptureTest, GivesStandardOutputAlone) {
  const auto output = capture({"sh", "-c", "echo out; echo err >&2"});
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(*output, "out\n");
}

TEST(CaptureTest, FailsWhereTheProgramIsMissingOrFails) {
  EXPECT_THAT(capture({"sidecall-no-such-program"}).error().message, HasSubstr("No such file"));
  EXPECT_THAT(capture({"false"}).error().message, HasSubstr("failed"));
}

TEST(CaptureTest, EndsAProgramThatDoesNotEnd) {
  const auto output = capture({"sleep", "1000"}, std::chrono::milliseconds(20));
  EXPECT_THAT(output.error().message, HasSubstr("in time"));
}

TEST(CaptureTest, DoesNotTakeWhatNeverEnds) {
  EXPECT_FALSE(capture({"cat", "/dev/zero"}));
}

}  // namespace
}  // namespace sidecall::cli
