#include "base/result.h"

#include <gtest/gtest.h>

namespace sidecall {
namespace {

TEST(ErrnoName, NamesWhatHasAName) {
  EXPECT_EQ(errno_name(EPERM), "EPERM");
  EXPECT_EQ(errno_name(EHWPOISON), "EHWPOISON");
}

TEST(ErrnoName, GivesTheNumberOfWhatHasNone) {
  EXPECT_EQ(errno_name(0), "errno 0");
  EXPECT_EQ(errno_name(4242), "errno 4242");
  EXPECT_EQ(errno_name(-1), "errno -1");
}

TEST(ErrnoFailure, SaysWhatWasDoneAndWhyItFailed) {
  EXPECT_EQ(errno_failure("opening /x", ENOENT).value().message,
            "opening /x: No such file or directory");
  EXPECT_EQ(errno_failure("opening /x", 4242).value().message, "opening /x: errno 4242");
}

TEST(ErrnoFailure, TakesTheCurrentErrno) {
  errno = EACCES;
  EXPECT_EQ(errno_failure("opening").value().message, "opening: Permission denied");
}

TEST(PassOn, ChainsContextInFrontAndChangesTheType) {
  Result<int> failed = failure("no");
  const Result<std::string> passed = pass_on(std::move(failed), "inner");
  ASSERT_FALSE(passed);
  EXPECT_EQ(passed.error().message, "inner: no");

  Result<int> again = failure("no");
  const Result<void> bare = pass_on(std::move(again));
  EXPECT_EQ(bare.error().message, "no");
}

}  // namespace
}  // namespace sidecall
