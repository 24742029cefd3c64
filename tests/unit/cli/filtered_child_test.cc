#include "cli/filtered_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <optional>

#include "kernel/listener.h"

namespace sidecall::cli {
namespace {

Result<FilteredChild> start(const std::vector<std::string>& command) {
  auto filter = Filter::build(oci::allow_all_profile());
  EXPECT_TRUE(filter) << filter.error().message;
  sigset_t mask;
  ::sigemptyset(&mask);
  return FilteredChild::start(*filter, command, mask);
}

TEST(FilteredChildTest, RunsTheCommandOnceItIsReleased) {
  auto child = start({"sh", "-c", "exit 7"});
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_TRUE(kernel::is_listener(child->listener()));
  int status = 0;
  EXPECT_EQ(::waitpid(child->pid(), &status, WNOHANG), 0) << "it waits";
  EXPECT_TRUE(child->release());
  ASSERT_EQ(::waitpid(child->pid(), &status, 0), child->pid());
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(FilteredChildTest, TellsWhyACommandCannotStart) {
  auto missing = start({"/sidecall/no/such/program"});
  ASSERT_TRUE(missing) << missing.error().message;
  const auto not_found = missing->release();
  ASSERT_FALSE(not_found);
  EXPECT_EQ(not_found.error().number.value, ENOENT);
  auto directory = start({"/"});
  ASSERT_TRUE(directory) << directory.error().message;
  const auto not_executable = directory->release();
  ASSERT_FALSE(not_executable);
  EXPECT_EQ(not_executable.error().number.value, EACCES);
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}

TEST(FilteredChildTest, EndsWithItsOwnerBeforeItIsReleased) {
  auto child = start({"true"});
  ASSERT_TRUE(child) << child.error().message;
  const pid_t pid = child->pid();
  { const FilteredChild taken = *std::move(child); }
  EXPECT_EQ(::waitpid(pid, nullptr, 0), -1);
  EXPECT_EQ(errno, ECHILD) << "it was reaped";
}

TEST(FilteredChildTest, TheCommandHasNoListenerOfItsOwn) {
  auto child = start({"sh", "-c", "ls -l /proc/self/fd | grep -q seccomp"});
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_TRUE(child->release());
  int status = 0;
  ASSERT_EQ(::waitpid(child->pid(), &status, 0), child->pid());
  EXPECT_EQ(WEXITSTATUS(status), 1) << "grep found none";
}

}  // namespace
}  // namespace sidecall::cli
