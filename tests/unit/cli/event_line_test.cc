#include "cli/event_line.h"

#include <gtest/gtest.h>

namespace sidecall::cli {
namespace {

TEST(EventLine, SaysWhatHappenedOnOneLine) {
  v1::Event event;
  event.set_unix_ns(1'796'083'200'123'456'789);
  event.set_sandbox("web1");
  event.set_kind(v1::Event::CALL_DENIED);
  event.mutable_call()->set_syscall("mknod");
  event.mutable_call()->set_errno_name("EPERM");
  event.mutable_call()->set_tid(42);
  EXPECT_EQ(event_line(event), "2026-12-01T00:00:00.123Z web1 call-denied mknod EPERM tid=42\n");
  event.set_kind(v1::Event::PRIVILEGED_STEP);
  event.mutable_call()->clear_errno_name();
  event.mutable_call()->set_uid(0);
  event.mutable_call()->set_what("node c 1:3 at /dev/null");
  EXPECT_EQ(
      event_line(event),
      "2026-12-01T00:00:00.123Z web1 privileged-step mknod: node c 1:3 at /dev/null: 0 tid=42 "
      "uid=0\n");
}

TEST(EventLine, WhatBelongsToNoSandboxHasADash) {
  v1::Event event;
  event.set_kind(v1::Event::EVENTS_LOST);
  event.set_lost(9);
  EXPECT_EQ(event_line(event), "1970-01-01T00:00:00.000Z - events-lost lost=9\n");
}

TEST(EventLine, EveryKindHasAName) {
  for (int number = 1; number < v1::Event::Kind_ARRAYSIZE; ++number) {
    const auto kind = static_cast<v1::Event::Kind>(number);
    EXPECT_EQ(event_kind(event_kind_name(kind)), kind);
  }
  EXPECT_FALSE(event_kind("kind-unspecified"));
  EXPECT_FALSE(event_kind("CALL_DENIED"));
}

}  // namespace
}  // namespace sidecall::cli
