#include "emulators/remote_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::emulators::remote {
namespace {

using testing::HasSubstr;

CallShape openat_shape() {
  CallShape shape;
  shape.syscall = "openat";
  shape.abis = 3;
  shape.when = {{.index = 2, .op = Compare::kMaskedEqual, .value = 64, .value_two = 0}};
  shape.arguments = {{.index = 1,
                      .kind = ArgumentShape::Kind::kCString,
                      .length_argument = 0,
                      .size = 4096,
                      .read = true,
                      .write = false,
                      .optional = true}};
  shape.repeatable = true;
  shape.wants_caller = true;
  return shape;
}

Call openat_call() {
  Call call{.id = 9,
            .epoch = 2,
            .syscall = "openat",
            .abi = kernel::Abi::kI386,
            .nr = 295,
            .args = {1, 2, 3, 4, 5, ~0ULL},
            .tid = 77,
            .buffers = {},
            .caller = {}};
  call.buffers.push_back({1, std::string("a\0b", 3), 4096, false});
  call.buffers.push_back({2, "", 0, true});
  call.caller = Caller{.fsuid = 1,
                       .fsgid = 2,
                       .groups = {3, 4},
                       .capabilities = 5,
                       .umask = 022,
                       .working_directory = "/w"};
  return call;
}

Answer answer_with(decltype(Answer::given) given) {
  Answer answer{.id = 5, .given = std::move(given), .writes = {}};
  answer.writes.push_back({3, std::string("\0\1", 2)});
  return answer;
}

std::vector<FromBridge> messages_of_a_bridge() {
  return {Described{7, {openat_shape()}},   Lost{},
          answer_with(Value{-1}),           answer_with(Errno{4095}),
          answer_with(Continue{}),          answer_with(File{true}),
          answer_with(OpenFile{"/a", 1, 2})};
}

std::vector<ToBridge> messages_to_a_bridge() {
  return {openat_call(), Cancelled{3}};
}

TEST(RemoteCall, EveryMessageComesOverTheWireWhole) {
  for (const FromBridge& message : messages_of_a_bridge()) {
    const std::string bytes = encode(message);
    const auto decoded = decode_from_bridge(bytes);
    ASSERT_TRUE(decoded) << message.index();
    EXPECT_EQ(decoded->index(), message.index());
    EXPECT_EQ(encode(*decoded), bytes);
  }
  for (const ToBridge& message : messages_to_a_bridge()) {
    const std::string bytes = encode(message);
    const auto decoded = decode_to_bridge(bytes);
    ASSERT_TRUE(decoded) << message.index();
    EXPECT_EQ(encode(*decoded), bytes);
  }
  const auto described = decode_from_bridge(encode(FromBridge(Described{7, {openat_shape()}})));
  EXPECT_EQ(std::get<Described>(*described).epoch, 7U);
  EXPECT_EQ(std::get<Described>(*described).shapes.at(0), openat_shape());
  const auto call = std::get<Call>(*decode_to_bridge(encode(ToBridge(openat_call()))));
  EXPECT_EQ(call.syscall, "openat");
  EXPECT_EQ(call.args[5], ~0ULL);
  EXPECT_EQ(call.buffers.at(0).data, std::string("a\0b", 3));
  EXPECT_TRUE(call.buffers.at(1).null);
  EXPECT_EQ(call.caller->working_directory, "/w");
}

TEST(RemoteCall, WhateverIsCutOrAddedIsRefused) {
  for (const FromBridge& message : messages_of_a_bridge()) {
    const std::string whole = encode(message);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_FALSE(decode_from_bridge(whole.substr(0, length))) << length;
    }
    EXPECT_FALSE(decode_from_bridge(whole + '\0'));
  }
  for (const ToBridge& message : messages_to_a_bridge()) {
    const std::string whole = encode(message);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_FALSE(decode_to_bridge(whole.substr(0, length))) << length;
    }
    EXPECT_FALSE(decode_to_bridge(whole + '\0'));
  }
}

TEST(RemoteCall, WhatExceedsABoundIsRefused) {
  const auto refused = [](const FromBridge& message) {
    return !decode_from_bridge(encode(message)).has_value();
  };
  EXPECT_TRUE(refused(answer_with(Errno{0})));
  EXPECT_TRUE(refused(answer_with(Errno{4096})));
  EXPECT_TRUE(refused(answer_with(OpenFile{std::string(4096, 'x'), 0, 0})));
  EXPECT_TRUE(refused(answer_with(OpenFile{std::string("a\0b", 3), 0, 0})));
  Answer large = answer_with(Value{0});
  large.writes.push_back({1, std::string(kMostWriteBytes, 'x')});
  EXPECT_TRUE(refused(large));
  large.writes[1].data.resize(kMostWriteBytes - 2);
  EXPECT_FALSE(refused(large));
  large.writes[0].index = 6;
  EXPECT_TRUE(refused(large));
  EXPECT_TRUE(refused(Described{1, std::vector<CallShape>(65, openat_shape())}));
  EXPECT_FALSE(refused(Described{1, std::vector<CallShape>(64, openat_shape())}));
  Call call = openat_call();
  call.buffers[0].data.resize(kMostBufferBytes + 1);
  EXPECT_FALSE(decode_to_bridge(encode(ToBridge(call))));
}

TEST(RemoteCall, TheLargestMessagesFit) {
  Call call = openat_call();
  call.buffers[0].data.resize(kMostBufferBytes);
  call.caller->groups.resize(kMostGroups);
  call.caller->working_directory.resize(kMostPathBytes);
  EXPECT_LE(encode(ToBridge(call)).size(), kMostMessageBytes);
  CallShape shape = openat_shape();
  shape.syscall.resize(64, 'x');
  shape.when.resize(16, shape.when[0]);
  for (const int index : {0, 2, 3, 4, 5}) {
    shape.arguments.push_back(shape.arguments[0]);
    shape.arguments.back().index = static_cast<std::uint8_t>(index);
  }
  const Described all{1, std::vector<CallShape>(64, shape)};
  EXPECT_TRUE(check(all.shapes));
  EXPECT_LE(encode(FromBridge(all)).size(), kMostMessageBytes);
}

TEST(RemoteCall, ADescriptionMakesSense) {
  const auto error = [](auto spoil) {
    CallShape shape = openat_shape();
    spoil(shape);
    const auto checked = check({shape});
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(error([](CallShape&) {}), "");
  EXPECT_THAT(error([](CallShape& s) { s.syscall.clear(); }), HasSubstr("without a system call"));
  EXPECT_THAT(error([](CallShape& s) { s.arguments[0].write = true; }), HasSubstr("string"));
  EXPECT_THAT(error([](CallShape& s) { s.arguments[0].read = false; }), HasSubstr("neither"));
  EXPECT_THAT(error([](CallShape& s) { s.arguments[0].size = 4097; }), HasSubstr("string"));
  EXPECT_THAT(error([](CallShape& s) { s.arguments[0].index = 6; }), HasSubstr("sixth"));
  EXPECT_THAT(error([](CallShape& s) { s.arguments.push_back(s.arguments[0]); }),
              HasSubstr("twice"));
  EXPECT_THAT(error([](CallShape& s) {
                s.arguments[0].kind = ArgumentShape::Kind::kStruct;
                s.arguments[0].size = 65537;
              }),
              HasSubstr("structure"));
}

TEST(RemoteCall, TheSameCallIsKnownByAllButItsIdAndEpoch) {
  Call other = openat_call();
  other.id = 10;
  other.epoch = 3;
  std::string one = encode(ToBridge(openat_call()));
  EXPECT_TRUE(is_same_call(one, encode(ToBridge(other))));
  set_epoch(one, 44);
  EXPECT_EQ(std::get<Call>(*decode_to_bridge(one)).epoch, 44U);
  EXPECT_EQ(std::get<Call>(*decode_to_bridge(one)).id, 9U);
  other.buffers[0].data = "another";
  EXPECT_FALSE(is_same_call(one, encode(ToBridge(other))));
  EXPECT_FALSE(is_same_call("", ""));
}

}  // namespace
}  // namespace sidecall::emulators::remote
