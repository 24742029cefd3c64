#include "emulators/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/pass_fd.h"
#include "support/fd_name.h"

namespace sidecall::emulators {
namespace {

using support::fd_name;
using support::named_fd;
using testing::ElementsAre;

std::vector<UniqueFd> one_fd(const char* name) {
  std::vector<UniqueFd> fds;
  fds.push_back(named_fd(name));
  return fds;
}

TEST(Step, ComesOverTheWireWhole) {
  Step step;
  step.numbers = {1, 2, 3, 4, 5, 6, 7, ~std::uint64_t{0}};
  step.texts = {"name", std::string("\0\xff bytes", 8), ""};
  auto decoded = decode_step(encode(42, step), one_fd("parent"));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->instance, 42U);
  EXPECT_EQ(decoded->step.numbers, step.numbers);
  EXPECT_EQ(decoded->step.texts, step.texts);
  ASSERT_EQ(decoded->step.fds.size(), 1U);
  EXPECT_EQ(fd_name(decoded->step.fds[0].get()), "parent");
}

TEST(Step, WhateverIsCutOrAddedIsRefused) {
  Step step;
  step.texts = {"name", "value"};
  const std::string whole = encode(1, step);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode_step(std::string_view(whole).substr(0, length), {})) << length;
  }
  EXPECT_FALSE(decode_step(whole + '\0', {}));
  step.texts.resize(Step::kMostTexts + 1);
  EXPECT_FALSE(decode_step(encode(1, step), {}));
  std::vector<UniqueFd> many(kMostFdsReceived + 1);
  EXPECT_FALSE(decode_step(whole, std::move(many)));
}

TEST(StepResult, ComesOverTheWireWhole) {
  const std::string bytes =
      encode(SysResult<StepResult>(StepResult{.value = -7, .bytes = "list", .fds = {}}));
  auto decoded = decode_result(bytes, one_fd("opened"));
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_TRUE(*decoded);
  EXPECT_EQ((**decoded).value, -7);
  EXPECT_EQ((**decoded).bytes, "list");
  ASSERT_EQ((**decoded).fds.size(), 1U);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_result(std::string_view(bytes).substr(0, length), {})) << length;
  }
}

TEST(StepResult, AnErrnoComesAsAnErrno) {
  const std::string bytes = encode(SysResult<StepResult>(sys_failure(ENOSPC)));
  auto decoded = decode_result(bytes, {});
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_FALSE(*decoded);
  EXPECT_EQ(decoded->error().value, ENOSPC);
  EXPECT_FALSE(decode_result(bytes + "x", {}));
}

}  // namespace
}  // namespace sidecall::emulators
