#include "agent/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& path) {
  const auto opened = RunDirectory::open(path);
  return opened ? "" : opened.error().message;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

TEST(RunDirectory, IsMadeClosedToOthers) {
  const TemporaryDirectory parent;
  ASSERT_TRUE(RunDirectory::open(parent / "run"));
  EXPECT_EQ(mode_of(parent / "run"), 0700U);
}

TEST(RunDirectory, RefusesOneThatOthersCanEnter) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0750), 0);
  EXPECT_THAT(error_of(directory.path()), HasSubstr("chmod 0700 " + directory.path()));
}

TEST(RunDirectory, RefusesOneOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  const TemporaryDirectory directory;
  ASSERT_EQ(::chown(directory.path().c_str(), 4242, 4242), 0);
  EXPECT_THAT(error_of(directory.path()), HasSubstr("belongs to user 4242"));
}

TEST(RunDirectory, RefusesAFileAndASymbolicLink) {
  const TemporaryDirectory parent;
  ASSERT_TRUE(replace_file(parent / "file", "", 0600));
  EXPECT_THAT(error_of(parent / "file"), HasSubstr("not a directory"));
  std::filesystem::create_directory(parent / "real");
  std::filesystem::create_directory_symlink(parent / "real", parent / "link");
  EXPECT_THAT(error_of(parent / "link"), HasSubstr("not a directory"));
}

TEST(RunDirectory, NamesTheMissingParent) {
  const TemporaryDirectory parent;
  EXPECT_EQ(error_of(parent / "no/run"),
            "run directory " + (parent / "no/run") + ": creating it: No such file or directory");
}

TEST(RunDirectory, NamesThePidOfTheAgentThatHasIt) {
  const TemporaryDirectory directory;
  const auto first = RunDirectory::open(directory.path());
  ASSERT_TRUE(first);
  EXPECT_THAT(error_of(directory.path()),
              HasSubstr("another sidecalld runs in it, pid " + std::to_string(::getpid()) + ";"));
}

TEST(RunDirectory, IsFreeAgainOnceItsAgentHasGone) {
  const TemporaryDirectory directory;
  { ASSERT_TRUE(RunDirectory::open(directory.path())); }
  EXPECT_EQ(error_of(directory.path()), "");
}

TEST(RunDirectory, SocketsAreTheOwnersOnlyAndGoWithTheirOwner) {
  const TemporaryDirectory directory;
  const auto opened = RunDirectory::open(directory.path());
  ASSERT_TRUE(opened);
  {
    const auto socket = opened->bind("x.sock");
    ASSERT_TRUE(socket) << socket.error().message;
    EXPECT_EQ(mode_of(directory / "x.sock"), 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "x.sock"));
}

TEST(RunDirectory, ReplacesASocketThatADeadAgentLeft) {
  const TemporaryDirectory directory;
  const auto opened = RunDirectory::open(directory.path());
  ASSERT_TRUE(opened);
  auto dead = opened->bind("x.sock");
  ASSERT_TRUE(dead);
  const auto fresh = opened->bind("x.sock");
  ASSERT_TRUE(fresh) << fresh.error().message;
  const UniqueFd client = connect_to(directory / "x.sock");
  EXPECT_TRUE(accept_peer(fresh->fd()));
}

TEST(RunDirectory, LeavesAloneWhatIsNoSocket) {
  const TemporaryDirectory directory;
  const auto opened = RunDirectory::open(directory.path());
  ASSERT_TRUE(opened);
  ASSERT_TRUE(replace_file(directory / "x.sock", "precious", 0600));
  const auto socket = opened->bind("x.sock");
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, HasSubstr("not a socket; remove it"));
  EXPECT_EQ(read_file(directory / "x.sock").value_or(""), "precious");
}

TEST(RunDirectory, SaysThatANameIsTooLongForASocket) {
  const TemporaryDirectory parent;
  const auto opened = RunDirectory::open(parent / std::string(100, 'x'));
  ASSERT_TRUE(opened);
  const auto socket = opened->bind("x.sock");
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, HasSubstr("choose a shorter --run-dir"));
}

// On a file system of its own, in a child with a mount namespace of its own: what the agent says
// there comes back over a pipe.
std::string error_on(unsigned long flags, const char* options, bool fill) {
  const TemporaryDirectory directory;
  const Pipe pipe;
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string& path = directory.path();
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("none", path.c_str(), "tmpfs", flags, options) == 0;
    if (mounted && fill) {
      // Opened and locked while there is room; full when it is to be written.
      static_cast<void>(replace_file(path + "/agent.lock", "", 0600).has_value());
      const auto filler = open_file(path + "/filler", O_WRONLY | O_CREAT, 0600);
      const std::string page(4096, 'x');
      while (filler && write_fd(filler->get(), page)) {
      }
    }
    const std::string said = mounted ? error_of(path) : "cannot mount";
    static_cast<void>(write_fd(pipe.write.get(), said).has_value());
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::string said(4096, '\0');
  const ssize_t count = ::read(pipe.read.get(), said.data(), said.size());
  said.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return said;
}

TEST(RunDirectory, ReadOnlyFileSystemIsOneClearError) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  const std::string said = error_on(MS_RDONLY, "mode=0700", false);
  EXPECT_THAT(said, HasSubstr("Read-only file system"));
  EXPECT_THAT(said, HasSubstr("run directory "));
}

TEST(RunDirectory, FullFileSystemIsOneClearError) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  const std::string said = error_on(0, "mode=0700,size=64k", true);
  EXPECT_THAT(said, HasSubstr("No space left on device"));
  EXPECT_THAT(said, HasSubstr("agent.lock"));
}

}  // namespace
}  // namespace sidecall::agent
