#include "emulators/mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace sidecall::emulators {
namespace {

using testing::HasSubstr;

Options options(const std::string& mode) {
  return {{"mode", mode}};
}
Options options(const std::string& mode, const std::string& error) {
  return {{"mode", mode}, {"errno", error}};
}
Result<ModeOptions> read_either(const Options& options) {
  return read_mode(options, {Mode::kPretend, Mode::kErrno});
}
std::string error_of(const Result<ModeOptions>& read) {
  return read ? "" : read.error().message;
}

TEST(ReadMode, ReadsWhatIsOffered) {
  EXPECT_EQ(read_either(options("pretend"))->mode, Mode::kPretend);
  EXPECT_EQ(read_either(options("errno"))->mode, Mode::kErrno);
  EXPECT_EQ(error_of(read_either(options("perform"))), "mode must be \"pretend\" or \"errno\"");
  EXPECT_EQ(error_of(read_either({})), "mode must be \"pretend\" or \"errno\"");
  EXPECT_EQ(error_of(read_mode(options("errno"), {Mode::kPretend})), "mode must be \"pretend\"");
}

TEST(ReadMode, ReadsErrorsByName) {
  EXPECT_EQ(read_either(options("errno"))->error.value, EPERM);
  EXPECT_EQ(read_either(options("errno", "ENOSYS"))->error.value, ENOSYS);
  EXPECT_EQ(read_either(options("errno", "EHWPOISON"))->error.value, EHWPOISON);
  for (const std::string name : {"", "EFOO", "enosys", "38", "errno 4000", "E"}) {
    EXPECT_THAT(error_of(read_either(options("errno", name))), HasSubstr("name of an error"));
  }
  EXPECT_EQ(error_of(read_either(options("pretend", "ENOSYS"))),
            "errno is for mode \"errno\" only");
}

TEST(MakeFixed, AnswersAsTheFilterDoes) {
  support::FakeTarget target;
  const support::FakeSandbox sandbox;
  Environment environment{.target = target, .sandbox = sandbox};
  const auto pretend = read_either(options("pretend"));
  EXPECT_EQ(fixed_answer(*pretend).errno_value, 0);
  const Outcome success = (*make_fixed(pretend))->emulate({}, environment);
  EXPECT_EQ(std::get<Value>(*success).value, 0);

  const auto error = read_either(options("errno", "ENOSYS"));
  EXPECT_EQ(fixed_answer(*error).errno_value, ENOSYS);
  const Outcome failure = (*make_fixed(error))->emulate({}, environment);
  EXPECT_EQ(std::get<Errno>(*failure).value, ENOSYS);

  EXPECT_FALSE(make_fixed(read_either({})));
}

}  // namespace
}  // namespace sidecall::emulators
