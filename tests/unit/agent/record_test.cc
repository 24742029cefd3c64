#include "agent/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

#include "agent/record_directory.h"
#include "base/file.h"
#include "sidecall/v1/record.pb.h"
#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Record sample(std::uint64_t number = 7) {
  Record record;
  record.number = number;
  record.identity = {"web", "/bundle", 42, {{"a", "b"}, {"empty", ""}}};
  record.program.policy = "default";
  record.program.routes.push_back({kernel::Abi::kX86_64, 99, "sysinfo", {}});
  record.since = std::chrono::system_clock::time_point{std::chrono::milliseconds{1234}};
  return record;
}

std::string error_of(std::string_view bytes) {
  const auto record = decode_record(7, bytes);
  return record ? "" : record.error().message;
}

TEST(Record, ComesBackAsItWas) {
  const auto back = decode_record(7, encode(sample()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->number, 7U);
  EXPECT_EQ(back->identity.id, "web");
  EXPECT_EQ(back->identity.bundle, "/bundle");
  EXPECT_EQ(back->identity.pid, 42);
  EXPECT_EQ(back->identity.annotations, sample().identity.annotations);
  EXPECT_EQ(back->program.policy, "default");
  ASSERT_THAT(back->program.routes, SizeIs(1));
  EXPECT_EQ(back->program.routes[0].name, "sysinfo");
  EXPECT_EQ(back->since, sample().since);
}

TEST(Record, OfAnotherVersionIsRefusedAndNotGuessed) {
  std::string bytes = encode(sample());
  bytes.replace(bytes.find(" 1 "), 3, " 2 ");
  EXPECT_THAT(error_of(bytes), HasSubstr("version 2, where this sidecalld reads 1"));
}

TEST(Record, CutAnywhereIsRefused) {
  const std::string bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(error_of(bytes.substr(0, size)), "") << size;
  }
}

TEST(Record, WithAnyByteChangedIsRefused) {
  const std::string bytes = encode(sample());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    EXPECT_NE(error_of(damaged), "") << at;
  }
}

TEST(Record, AStartThatTheClockCannotHoldIsRefused) {
  const std::string bytes = encode(sample());
  v1::SandboxRecord message;
  ASSERT_TRUE(message.ParseFromString(bytes.substr(bytes.find('\n') + 1)));
  for (const std::int64_t since : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
    message.set_since_unix_ms(since);
    EXPECT_THAT(error_of(sealed(message.SerializeAsString())), HasSubstr("out of range")) << since;
  }
}

TEST(Record, WithoutAProcessIsRefused) {
  Record record = sample();
  record.identity.pid = 0;
  EXPECT_EQ(error_of(encode(record)), "incomplete");
}

class RecordDirectoryTest : public testing::Test {
 protected:
  RecordDirectoryTest() : records_(std::move(*RecordDirectory::open(directory_ / "sandboxes"))) {}
  [[nodiscard]] std::vector<RecordDirectory::Found> all() const {
    return std::move(*records_.read_all());
  }
  TemporaryDirectory directory_;
  RecordDirectory records_;
};

TEST_F(RecordDirectoryTest, GivesWhatWasWrittenInOrderUntilItIsRemoved) {
  for (const std::uint64_t number : {10U, 9U, 100U}) ASSERT_TRUE(records_.write(sample(number)));
  ASSERT_THAT(all(), SizeIs(3));
  EXPECT_EQ(all()[0].number, 9U);
  EXPECT_EQ(all()[2].number, 100U);
  EXPECT_EQ(all()[2].record->number, 100U);
  records_.remove(10);
  records_.remove(11);
  EXPECT_THAT(all(), SizeIs(2));
}

TEST_F(RecordDirectoryTest, IsItsOwnersOnly) {
  ASSERT_TRUE(records_.write(sample()));
  struct stat status {};
  ASSERT_EQ(::stat((directory_ / "sandboxes").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  ASSERT_EQ(::stat((directory_ / "sandboxes/7").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

TEST_F(RecordDirectoryTest, TellsWhichRecordIsDamagedAndReadsTheOthers) {
  ASSERT_TRUE(records_.write(sample(1)));
  ASSERT_TRUE(replace_file(directory_ / "sandboxes/2", "nonsense", 0600));
  ASSERT_THAT(all(), SizeIs(2));
  EXPECT_TRUE(all()[0].record);
  EXPECT_FALSE(all()[1].record);
}

TEST_F(RecordDirectoryTest, LeavesForeignFilesAloneAndRemovesDrafts) {
  ASSERT_TRUE(replace_file(directory_ / "sandboxes/notes.txt", "mine", 0600));
  ASSERT_TRUE(replace_file(directory_ / "sandboxes/0", "not a number of ours", 0600));
  ASSERT_TRUE(replace_file(directory_ / "sandboxes/3.ab12CD", "half a rec", 0600));
  EXPECT_THAT(all(), SizeIs(0));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "sandboxes/notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "sandboxes/3.ab12CD"));
}

TEST_F(RecordDirectoryTest, AWriteThatFailsNamesTheFile) {
  std::filesystem::remove_all(directory_ / "sandboxes");
  const auto written = records_.write(sample());
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr(directory_ / "sandboxes/7"));
}

}  // namespace
}  // namespace sidecall::agent
