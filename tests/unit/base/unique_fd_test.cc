#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "support/fd_name.h"

namespace sidecall {
namespace {

using support::named_fd;

static_assert(!std::is_copy_constructible_v<UniqueFd>);
static_assert(!std::is_convertible_v<int, UniqueFd>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFd>);

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFd, OwnsNothingAtFirst) {
  const UniqueFd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
}

TEST(UniqueFd, ClosesAtItsEnd) {
  int number = -1;
  {
    const UniqueFd fd = named_fd("a");
    number = fd.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, AMoveLeavesNothingBehind) {
  UniqueFd from = named_fd("a");
  const int number = from.get();
  const UniqueFd to = std::move(from);
  EXPECT_EQ(to.get(), number);
  EXPECT_EQ(from.get(), -1);  // NOLINT(bugprone-use-after-move,clang-analyzer-*): what is tested
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, AssignmentClosesWhatWasHeld) {
  UniqueFd held = named_fd("old");
  UniqueFd other = named_fd("new");
  const int old_number = held.get();
  const int new_number = other.get();
  held = std::move(other);
  EXPECT_FALSE(is_open(old_number));
  EXPECT_EQ(held.get(), new_number);
  EXPECT_TRUE(is_open(new_number));
}

TEST(UniqueFd, AssignmentToItselfKeepsIt) {
  UniqueFd fd = named_fd("a");
  UniqueFd& same = fd;
  fd = std::move(same);
  EXPECT_TRUE(fd);
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(UniqueFd, ReleaseHandsOverAndResetCloses) {
  UniqueFd fd = named_fd("a");
  const UniqueFd taken(fd.release());
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(taken.get()));

  UniqueFd closed = named_fd("b");
  const int number = closed.get();
  closed.reset();
  EXPECT_FALSE(closed);
  EXPECT_FALSE(is_open(number));
}

}  // namespace
}  // namespace sidecall
