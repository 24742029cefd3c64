#include "emulators/caller_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "support/fake_target.h"
#include "support/fd_name.h"

namespace sidecall::emulators {
namespace {

using support::fd_name;

class CallerPathTest : public testing::Test {
 protected:
  CallerPathTest() {
    target_.descriptors = {{5, "five"}};
    target_.caller.tgids = {70, 7};
    target_.caller.tids = {90, 9};
    target_.level = 1;
  }
  CallerPath of(const std::string& text, int dirfd = AT_FDCWD) {
    auto path = caller_path(target_, text, dirfd, target_.caller, OwnLinks::kFollow);
    EXPECT_TRUE(path);
    return std::move(path).value_or(CallerPath{});
  }
  support::FakeTarget target_;
};

TEST_F(CallerPathTest, StartsWhereTheCallerWouldStart) {
  EXPECT_EQ(fd_name(of("x").view.base.get()), "cwd");
  EXPECT_EQ(fd_name(of("x", 5).view.base.get()), "five");
  EXPECT_EQ(fd_name(of("", 5).view.base.get()), "five");
  EXPECT_FALSE(of("/x", 5).view.base);
  EXPECT_FALSE(of("/x", 99).view.base);
  EXPECT_EQ(fd_name(of("/x").view.root.get()), "root");
  EXPECT_EQ(caller_path(target_, "x", 99, {}, OwnLinks::kFollow).error().value, EBADF);
}

TEST_F(CallerPathTest, OwnProcDirectoriesGetTheCallersNumbers) {
  EXPECT_EQ(of("/proc/self/fd/3").text, "/proc/7/fd/3");
  EXPECT_EQ(of("/proc/self").text, "/proc/7");
  EXPECT_EQ(of("/proc/thread-self/cwd").text, "/proc/7/task/9/cwd");
  EXPECT_EQ(of("/proc/selfish").text, "/proc/selfish");
  EXPECT_EQ(of("proc/self").text, "proc/self");
  target_.level = 0;  // the /proc of an outer pid namespace
  EXPECT_EQ(of("/proc/thread-self/cwd").text, "/proc/70/task/90/cwd");
  target_.level.reset();  // none that shows the caller
  EXPECT_EQ(of("/proc/self/fd/3").text, "/proc/self/fd/3");
}

TEST_F(CallerPathTest, OwnLinksAreLookedUpAndNotWalked) {
  target_.caller.tids = {70, 7};
  const auto link = [&](const std::string& path) {
    const auto own = own_link(target_, path, target_.caller);
    return own ? fd_name(own->file.get()) + " " + own->rest + (own->ends ? "" : "/") : "none";
  };
  EXPECT_EQ(link("/proc/self/fd/5"), "five ");
  EXPECT_EQ(link("/proc/self//fd//5//"), "five /");
  EXPECT_EQ(link("/proc/thread-self/fd/5/a/b"), "five a/b");
  EXPECT_EQ(link("/proc/self/cwd/x"), "cwd x");
  EXPECT_EQ(link("/proc/self/root"), "root ");
  for (const char* path : {"/proc/self", "/proc/self/fd", "/proc/self/fd/", "/proc/self/fd/6",
                           "/proc/self/fd/05", "/proc/self/fd/5x", "/proc/self/fd/-5",
                           "/proc/self/exe", "/proc/7/fd/5", "/proc/selfish/fd/5"}) {
    EXPECT_EQ(link(path), "none") << path;
  }
  target_.caller.tids = {90, 9};  // another thread of the process
  EXPECT_EQ(link("/proc/self/fd/5"), "none");
  EXPECT_EQ(link("/proc/thread-self/fd/5"), "five ");
  target_.level.reset();
  EXPECT_EQ(link("/proc/thread-self/fd/5"), "none");
}

TEST_F(CallerPathTest, OwnDirectoriesAreWhereAPathStarts) {
  target_.caller.tids = {70, 7};
  target_.directories = {"five", "cwd"};
  EXPECT_EQ(of("/proc/self/fd/5/x").text, "x");
  EXPECT_EQ(fd_name(of("/proc/self/fd/5/x").view.base.get()), "/");
  EXPECT_EQ(of("/proc/self/fd/5").text, ".");
  EXPECT_EQ(of("/proc/self/cwd/").text, ".");
  const auto text_of = [&](const char* text, OwnLinks links) {
    return caller_path(target_, text, AT_FDCWD, target_.caller, links).value().text;
  };
  EXPECT_EQ(text_of("/proc/self/fd/5", OwnLinks::kNotAtEnd), "/proc/7/fd/5");
  EXPECT_EQ(text_of("/proc/self/fd/5/", OwnLinks::kNotAtEnd), ".");
  EXPECT_EQ(text_of("/proc/self/fd/5/x", OwnLinks::kNotAtEnd), "x");
  EXPECT_EQ(text_of("/proc/self/fd/5/x", OwnLinks::kWalk), "/proc/7/fd/5/x");
  target_.directories.clear();
  EXPECT_EQ(of("/proc/self/fd/5").text, "/proc/7/fd/5");
}

TEST(SplitPath, GivesTheDirectoryAndTheLastComponent) {
  const auto split = [](const char* path) {
    const auto [directory, name] = split_path(path);
    return directory + " " + name;
  };
  EXPECT_EQ(split("a"), ". a");
  EXPECT_EQ(split("/a"), "/. a");
  EXPECT_EQ(split("a/b"), "a/. b");
  EXPECT_EQ(split("/a//b"), "/a//. b");
  EXPECT_EQ(split("a/b//"), "a/. b//");
  EXPECT_EQ(split("a/.."), "a/. ..");
  EXPECT_EQ(split("/"), ". /");
  EXPECT_EQ(split("//"), ". //");
}

}  // namespace
}  // namespace sidecall::emulators
