#include "worker/remote_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "support/fake_target.h"

namespace sidecall::worker {
namespace {

using emulators::remote::ArgumentShape;
using emulators::remote::CallShape;
using Kind = ArgumentShape::Kind;
using kernel::Abi;
using support::FakeTarget;
using support::Look;
using testing::SizeIs;

constexpr std::uint64_t kAddress = 0x10000;

ArgumentShape argument(std::uint8_t index, Kind kind, std::uint32_t size_or_argument, bool read,
                       bool write) {
  ArgumentShape made{.index = index, .kind = kind, .read = read, .write = write};
  if (kind == Kind::kCString || kind == Kind::kStruct) {
    made.size = size_or_argument;
  } else {
    made.length_argument = static_cast<std::uint8_t>(size_or_argument);
  }
  return made;
}

CallShape shape_of(std::vector<ArgumentShape> arguments) {
  CallShape shape;
  shape.syscall = "test";
  shape.arguments = std::move(arguments);
  return shape;
}

std::string words(std::initializer_list<std::uint64_t> values, std::size_t bytes) {
  std::string all;
  for (const std::uint64_t value : values) {
    all.append(reinterpret_cast<const char*>(&value), bytes);
  }
  return all;
}

int error_of(const SysResult<Copied>& copied) {
  return copied ? 0 : copied.error().value;
}

TEST(RemoteArguments, CopiesEachKindOnce) {
  FakeTarget target;
  target.map_string(kAddress, "/path");
  target.map(0x20000, "bytes-and-more");
  target.map(0x30000, "structure");
  target.map(0x40000, words({0x50000, 2, 0x60000, 3}, 8));
  target.map(0x50000, "ab");
  target.map(0x60000, "cde");
  const auto shape = shape_of(
      {argument(0, Kind::kCString, 4096, true, false), argument(1, Kind::kBytes, 2, true, false),
       argument(3, Kind::kStruct, 9, true, false), argument(4, Kind::kIovec, 5, true, false)});
  const auto copied =
      copy_arguments(target, Abi::kX86_64, {kAddress, 0x20000, 5, 0x30000, 0x40000, 2}, shape);
  ASSERT_TRUE(copied);
  ASSERT_THAT(copied->buffers, SizeIs(4));
  EXPECT_EQ(copied->buffers[0].data, "/path");
  EXPECT_EQ(copied->buffers[1].data, "bytes");
  EXPECT_EQ(copied->buffers[2].data, "structure");
  EXPECT_EQ(copied->buffers[3].data, "abcde");
  EXPECT_EQ(copied->buffers[3].length, 5U);
  EXPECT_FALSE(target.anything_read_twice());
}

TEST(RemoteArguments, FailsAsTheKernelWould) {
  FakeTarget target;
  target.map(kAddress, std::string(10, 'x'));
  const auto error = [&](const ArgumentShape& each, std::array<std::uint64_t, 6> args) {
    return error_of(copy_arguments(target, Abi::kX86_64, args, shape_of({each})));
  };
  EXPECT_EQ(error(argument(0, Kind::kCString, 4096, true, false), {kAddress}), EFAULT);
  EXPECT_EQ(error(argument(0, Kind::kCString, 4, true, false), {kAddress}), ENAMETOOLONG);
  EXPECT_EQ(error(argument(0, Kind::kStruct, 11, true, false), {kAddress}), EFAULT);
  EXPECT_EQ(error(argument(0, Kind::kStruct, 4, true, false), {0}), EFAULT);
  EXPECT_EQ(error(argument(0, Kind::kSockaddr, 1, true, false), {kAddress, 129}), EINVAL);
  EXPECT_EQ(error(argument(0, Kind::kIovec, 1, true, false), {kAddress, 1025}), EINVAL);
  EXPECT_EQ(error(argument(0, Kind::kIovec, 1, true, false), {kAddress, ~0ULL}), EINVAL);
  target.map(0x70000, words({kAddress, 1ULL << 63U}, 8));
  EXPECT_EQ(error(argument(0, Kind::kIovec, 1, true, false), {0x70000, 1}), EINVAL);
  target.fail(Look::kRead, ESRCH);
  EXPECT_EQ(error(argument(0, Kind::kStruct, 4, true, false), {kAddress}), ESRCH);
}

TEST(RemoteArguments, NullIsOnlyWhereItMayBe) {
  FakeTarget target;
  ArgumentShape each = argument(0, Kind::kStruct, 4, true, true);
  each.optional = true;
  const auto copied = copy_arguments(target, Abi::kX86_64, {0}, shape_of({each}));
  ASSERT_TRUE(copied);
  ASSERT_THAT(copied->buffers, SizeIs(1));
  EXPECT_TRUE(copied->buffers[0].null);
  EXPECT_THAT(copied->rooms, SizeIs(0));
}

TEST(RemoteArguments, WhatIsTooMuchIsCut) {
  FakeTarget target;
  target.map(kAddress, std::string(70'000, 'x'));
  const auto copied = copy_arguments(target, Abi::kX86_64, {kAddress, 1ULL << 40U},
                                     shape_of({argument(0, Kind::kBytes, 1, true, false)}));
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->buffers[0].data.size(), 65536U);
  EXPECT_EQ(copied->buffers[0].length, 1ULL << 40U);
}

TEST(RemoteArguments, I386HasItsOwnLayout) {
  FakeTarget target;
  target.map(0x40000, words({0x50000, 2}, 4));
  target.map(0x50000, "ab");
  const auto copied = copy_arguments(target, Abi::kI386, {0xffffffff00040000, 0xff00000001},
                                     shape_of({argument(0, Kind::kIovec, 1, true, false)}));
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->buffers[0].data, "ab");
}

TEST(RemoteArguments, ResultsGoWhereThereIsRoom) {
  FakeTarget target;
  target.map(0x40000, words({0x50000, 2, 0x60000, 3}, 8));
  target.map(0x50000, "..");
  target.map(0x60000, "...");
  const auto copied = copy_arguments(target, Abi::kX86_64, {0x40000, 2},
                                     shape_of({argument(0, Kind::kIovec, 1, false, true)}));
  ASSERT_TRUE(copied);
  target.map(0x40000, words({0, 0, 0, 0}, 8));  // too late: it was copied
  const auto write = [&](std::uint8_t index, std::string data) {
    const std::vector<emulators::remote::Write> writes = {{index, std::move(data)}};
    const auto written = write_results(target, copied->rooms, writes);
    return written ? 0 : written.error().value;
  };
  EXPECT_EQ(write(0, "abcd"), 0);
  EXPECT_EQ(target.bytes_at(0x50000, 2) + target.bytes_at(0x60000, 3), "abcd.");
  EXPECT_EQ(write(0, "123456"), EFAULT);
  EXPECT_EQ(target.bytes_at(0x50000, 2), "ab");
  EXPECT_EQ(write(1, "a"), EFAULT);
}

TEST(RemoteArguments, CapabilitiesOfAnInnerNamespaceAreNone) {
  FakeTarget target;
  target.caller.fsuid = 7;
  target.caller.groups.resize(1000, 3);
  auto caller = caller_of(target);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->fsuid, 7U);
  EXPECT_EQ(caller->capabilities, ~0ULL);
  EXPECT_THAT(caller->groups, SizeIs(emulators::remote::kMostGroups));
  EXPECT_EQ(caller->working_directory, "/work");
  target.in_sandbox = false;
  EXPECT_EQ(caller_of(target)->capabilities, 0U);
}

}  // namespace
}  // namespace sidecall::worker
