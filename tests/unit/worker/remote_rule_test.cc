#include "worker/remote_rule.h"

#include <gtest/gtest.h>

#include <string>

#include "base/result.h"

namespace sidecall::worker {
namespace {

using emulators::Remote;

// "waits", "continues" or the errno.
std::string given(Remote::Absent absent, bool may_continue, RemoteTrouble trouble,
                  bool maybe_done) {
  const Remote rule{.absent = absent, .errno_value = ENOTTY, .may_continue = may_continue};
  const auto ending = without_answer(rule, trouble, maybe_done);
  if (!ending) return "waits";
  if (std::holds_alternative<emulators::Continue>(*ending)) return "continues";
  return errno_name(std::get<Errno>(*ending).value);
}

TEST(RemoteRule, IsThePolicysWord) {
  using enum Remote::Absent;
  using enum RemoteTrouble;
  for (const auto trouble : {kAbsent, kLost, kLate}) {
    EXPECT_EQ(given(kErrno, false, trouble, false), "ENOTTY");
    EXPECT_EQ(given(kErrno, true, trouble, true), "ENOTTY");
    EXPECT_EQ(given(kContinue, true, trouble, false), "continues");
    // What a plugin may have done the kernel does not do once more.
    EXPECT_EQ(given(kContinue, true, trouble, true), "EINTR");
  }
  EXPECT_EQ(given(kWait, false, kAbsent, false), "waits");
  EXPECT_EQ(given(kWait, true, kLost, false), "waits");
  EXPECT_EQ(given(kWait, false, kLost, true), "EINTR");
  EXPECT_EQ(given(kWait, false, kLate, false), "ENOTTY");
}

TEST(RemoteRule, WhatThePluginDoesNotServeIsTheKernelsWhereThatIsAllowed) {
  using enum Remote::Absent;
  for (const auto absent : {kErrno, kWait}) {
    EXPECT_EQ(given(absent, false, RemoteTrouble::kUnserved, false), "ENOTTY");
    EXPECT_EQ(given(absent, true, RemoteTrouble::kUnserved, false), "continues");
    EXPECT_EQ(given(absent, true, RemoteTrouble::kUnserved, true), "ENOTTY");
  }
}

}  // namespace
}  // namespace sidecall::worker
