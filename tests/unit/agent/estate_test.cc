#include "agent/estate.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::agent {
namespace {

using keeper::Kept;
using keeper::Label;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

UniqueFd some_fd() {
  return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

RecordDirectory::Found record_of(std::uint64_t number) {
  Record record;
  record.number = number;
  record.identity.id = "web";
  return {number, record};
}

Kept kept(std::uint64_t sandbox, Label::Kind kind, std::uint64_t tag = 0, pid_t pid = 0) {
  return {{.sandbox = sandbox, .tag = tag, .kind = kind, .pid = pid}, some_fd()};
}

template <typename... Items>
auto list_of(Items&&... items) {
  std::vector<std::common_type_t<Items...>> list;
  (list.push_back(std::forward<Items>(items)), ...);
  return list;
}

TEST(Estate, EachDescriptorIsPutInItsPlace) {
  const auto all =
      sort_out(list_of(record_of(3)),
               list_of(kept(3, Label::Kind::kListener, 12, 500), kept(3, Label::Kind::kMemory),
                       kept(3, Label::Kind::kListener, 2, 501), kept(3, Label::Kind::kControl),
                       kept(3, Label::Kind::kProcess), kept(0, Label::Kind::kSocket, 1)));
  ASSERT_THAT(all.estates, SizeIs(1));
  const Estate& estate = all.estates[0];
  EXPECT_EQ(estate.record.number, 3U);
  EXPECT_TRUE(estate.process && estate.control && estate.memory);
  ASSERT_THAT(estate.listeners, SizeIs(2));
  EXPECT_EQ(estate.listeners[0].tag, 2U);
  EXPECT_EQ(estate.listeners[0].pid, 501);
  EXPECT_EQ(estate.listeners[1].tag, 12U);
  ASSERT_THAT(all.sockets, SizeIs(1));
  EXPECT_EQ(all.sockets[0].label.tag, 1U);
  EXPECT_THAT(all.lost, IsEmpty());
  EXPECT_THAT(all.refused, IsEmpty());
}

TEST(Estate, NumbersGoOnBeyondAllThatWereSeen) {
  EXPECT_EQ(sort_out({}, {}).next_number, 1U);
  EXPECT_EQ(sort_out(list_of(record_of(8)), {}).next_number, 9U);
  EXPECT_EQ(sort_out({}, list_of(kept(11, Label::Kind::kMemory))).next_number, 12U);
}

TEST(Estate, ARecordOfWhichNothingIsKeptIsLost) {
  const auto all =
      sort_out(list_of(record_of(3), record_of(4)), list_of(kept(4, Label::Kind::kMemory)));
  ASSERT_THAT(all.lost, SizeIs(1));
  EXPECT_EQ(all.lost[0].number, 3U);
  EXPECT_THAT(all.estates, SizeIs(1));
}

TEST(Estate, WithoutAUsefulRecordNothingIsGuessed) {
  RecordDirectory::Found bad{5, failure("version 9")};
  const auto all = sort_out(list_of(std::move(bad)), list_of(kept(5, Label::Kind::kListener, 1),
                                                             kept(6, Label::Kind::kListener, 1)));
  EXPECT_THAT(all.estates, IsEmpty());
  ASSERT_THAT(all.refused, SizeIs(2));
  EXPECT_EQ(all.refused[0].number, 5U);
  EXPECT_EQ(all.refused[0].cause, "version 9");
  EXPECT_EQ(all.refused[1].number, 6U);
}

}  // namespace
}  // namespace sidecall::agent
