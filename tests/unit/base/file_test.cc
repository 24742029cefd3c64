#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/fd_name.h"
#include "support/temporary_directory.h"

namespace sidecall {
namespace {

using support::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;

std::size_t entries_in(const std::string& directory) {
  const auto all = std::filesystem::directory_iterator(directory);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

void put(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(OpenFile, ClosesOnExecAndNamesThePathThatFails) {
  const auto fd = open_file("/proc/self/status", O_RDONLY);
  ASSERT_TRUE(fd) << fd.error().message;
  EXPECT_EQ(::fcntl(fd->get(), F_GETFD), FD_CLOEXEC);

  const auto missing = open_file("/nonexistent/file", O_RDONLY);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "opening /nonexistent/file: No such file or directory");
}

TEST(ReadFile, GivesAllUpToTheLimitAndRefusesMore) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("f");
  // Longer than one read, so that the limit is that of the whole.
  const std::string text(50'000, 'x');
  put(path, text);
  EXPECT_EQ(read_file(path, text.size()).value(), text);
  const auto cut = read_file(path, text.size() - 1);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message, path + ": more than 49999 bytes");
}

TEST(ReadFile, AnEmptyFileFitsIntoNothing) {
  EXPECT_EQ(read_file("/dev/null", 0).value(), "");
}

TEST(ReadFile, AnEndlessFileEndsAtTheLimit) {
  EXPECT_THAT(read_file("/dev/zero", 100'000).error().message,
              HasSubstr("/dev/zero: more than 100000 bytes"));
}

TEST(ReadFile, ADirectoryIsAnErrorThatNamesIt) {
  EXPECT_THAT(read_file("/proc").error().message,
              AllOf(HasSubstr("/proc"), HasSubstr("directory")));
}

TEST(WriteFd, WritesAll) {
  const UniqueFd fd = support::named_fd("f");
  const std::string text(3U << 20U, 'y');
  ASSERT_TRUE(write_fd(fd.get(), text));
  ASSERT_EQ(::lseek(fd.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(read_fd(fd.get(), text.size()).value(), text);
}

TEST(WriteFd, AFullDeviceIsAnError) {
  const auto full = open_file("/dev/full", O_WRONLY);
  ASSERT_TRUE(full) << full.error().message;
  const auto written = write_fd(full->get(), "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "writing: No space left on device");
  EXPECT_TRUE(write_fd(full->get(), ""));
}

TEST(ReplaceFile, MakesAFileWithItsModeWhateverTheUmask) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("f");
  const mode_t before = ::umask(077);
  const auto made = replace_file(path, "new", 0644);
  ::umask(before);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(read_file(path).value(), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0644U);
  EXPECT_EQ(entries_in(directory.path()), 1U);
}

TEST(ReplaceFile, LeavesTheOldContentToWhoHasItOpen) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("f");
  put(path, "old");
  const auto reader = open_file(path, O_RDONLY);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(replace_file(path, "new and longer", 0600));
  EXPECT_EQ(read_fd(reader->get(), 100).value(), "old");
  EXPECT_EQ(read_file(path).value(), "new and longer");
}

TEST(ReplaceFile, LeavesNothingBehindWhereItFails) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("taken");
  ASSERT_TRUE(std::filesystem::create_directory(path));
  const auto replaced = replace_file(path, "x", 0600);
  ASSERT_FALSE(replaced);
  EXPECT_THAT(replaced.error().message, AllOf(HasSubstr("replacing " + path), HasSubstr("direct")));
  EXPECT_EQ(entries_in(directory.path()), 1U);
  EXPECT_THAT(replace_file(directory.file("no/such"), "x", 0600).error().message,
              HasSubstr("creating " + directory.file("no/such")));
}

}  // namespace
}  // namespace sidecall
