#include "bridge/translate.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace sidecall::bridge {
namespace {

namespace remote = emulators::remote;
using remote::ArgumentShape;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

v1::Description description_of_openat() {
  v1::Description description;
  v1::CallDescription& call = *description.add_calls();
  call.set_syscall("openat");
  call.add_architectures(v1::ARCHITECTURE_X86_64);
  call.add_architectures(v1::ARCHITECTURE_AARCH64);
  call.set_idempotent(true);
  v1::Argument& path = *call.add_arguments();
  path.set_index(1);
  path.set_kind(v1::Argument::KIND_C_STRING);
  path.set_read(true);
  v1::Condition& condition = *call.add_when();
  condition.set_index(2);
  condition.set_op(v1::Condition::OPERATOR_MASKED_EQUAL);
  condition.set_value(64);
  return description;
}

std::string error_of(const v1::Description& description) {
  const auto shapes = shapes_of(description);
  return shapes ? "" : shapes.error().message;
}
std::string error_of(const v1::ServeResponse& response) {
  const auto translated = translate(response);
  return translated ? "" : translated.error().message;
}

TEST(Translate, ADescriptionBecomesShapes) {
  const auto shapes = shapes_of(description_of_openat());
  ASSERT_TRUE(shapes) << shapes.error().message;
  ASSERT_THAT(*shapes, SizeIs(1));
  const remote::CallShape& shape = shapes->front();
  EXPECT_EQ(shape.syscall, "openat");
  EXPECT_EQ(shape.abis, 0b101);
  EXPECT_TRUE(shape.repeatable);
  EXPECT_FALSE(shape.wants_caller);
  ASSERT_THAT(shape.arguments, SizeIs(1));
  EXPECT_EQ(shape.arguments[0].kind, ArgumentShape::Kind::kCString);
  EXPECT_EQ(shape.arguments[0].size, 4096U);
  ASSERT_THAT(shape.when, SizeIs(1));
  EXPECT_EQ(shape.when[0].op, emulators::Compare::kMaskedEqual);
}

TEST(Translate, AWrongDescriptionIsRefusedWithItsReason) {
  const auto spoilt = [](auto spoil) {
    auto description = description_of_openat();
    spoil(*description.mutable_calls(0));
    return error_of(description);
  };
  EXPECT_THAT(spoilt([](auto& call) { call.set_architectures(0, v1::ARCHITECTURE_UNSPECIFIED); }),
              HasSubstr("openat: an unknown architecture"));
  EXPECT_THAT(spoilt([](auto& call) { call.mutable_arguments(0)->clear_kind(); }),
              HasSubstr("of no kind"));
  EXPECT_THAT(spoilt([](auto& call) { call.mutable_arguments(0)->set_index(256); }),
              HasSubstr("beyond the sixth"));
  EXPECT_THAT(spoilt([](auto& call) { call.mutable_when(0)->set_index(6); }),
              HasSubstr("no register"));
  EXPECT_THAT(spoilt([](auto& call) { call.mutable_arguments(0)->set_read(false); }),
              HasSubstr("neither read nor written"));
}

TEST(Translate, ACallBecomesAMessage) {
  remote::Call call{.id = 4,
                    .epoch = 1,
                    .syscall = "openat",
                    .abi = kernel::Abi::kI386,
                    .nr = 295,
                    .args = {1, 2, 3, 4, 5, 6},
                    .tid = 99,
                    .buffers = {},
                    .caller = {}};
  call.buffers.push_back({1, "/x", 2, false});
  call.caller = remote::Caller{.fsuid = 1,
                               .fsgid = 2,
                               .groups = {7},
                               .capabilities = 3,
                               .umask = 4,
                               .working_directory = "/w"};
  v1::Call message;
  write_call(call, message);
  EXPECT_EQ(message.id(), 4U);
  EXPECT_EQ(message.architecture(), v1::ARCHITECTURE_I386);
  EXPECT_EQ(message.number(), 295);
  EXPECT_THAT(message.args(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(message.buffers(0).data(), "/x");
  EXPECT_EQ(message.caller().working_directory(), "/w");
  EXPECT_THAT(message.caller().groups(), ElementsAre(7));
}

TEST(Translate, AFileBecomesMemoryThatNobodyCanChange) {
  v1::ServeResponse response;
  response.set_id(8);
  response.mutable_file()->set_contents("contents");
  response.mutable_file()->set_cloexec(true);
  const auto translated = translate(response);
  ASSERT_TRUE(translated);
  EXPECT_EQ(translated->answer.id, 8U);
  EXPECT_TRUE(std::get<remote::File>(translated->answer.given).cloexec);
  const int file = translated->file.get();
  std::array<char, 16> text{};
  EXPECT_EQ(::pread(file, text.data(), text.size(), 0), 8);
  EXPECT_STREQ(text.data(), "contents");
  EXPECT_EQ(::pwrite(file, "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(file, 0), -1);
}

TEST(Translate, AWrongAnswerIsRefusedWithItsReason) {
  v1::ServeResponse response;
  EXPECT_EQ(error_of(response), "");
  response.set_error(4096);
  EXPECT_THAT(error_of(response), HasSubstr("errno"));
  response.mutable_open()->set_path(std::string("a\0b", 3));
  EXPECT_THAT(error_of(response), HasSubstr("NUL"));
  response.set_value(0);
  response.add_writes()->set_index(6);
  EXPECT_THAT(error_of(response), HasSubstr("sixth"));
  response.mutable_writes(0)->set_index(5);
  response.mutable_writes(0)->set_data(std::string(65537, 'x'));
  EXPECT_THAT(error_of(response), HasSubstr("64 KiB"));
  response.mutable_writes(0)->set_data("x");
  response.add_writes()->set_index(5);
  EXPECT_THAT(error_of(response), HasSubstr("twice"));
}

}  // namespace
}  // namespace sidecall::bridge
