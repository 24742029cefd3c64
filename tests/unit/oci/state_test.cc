#include "oci/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidecall::oci {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// As crun 1.8 writes it.
constexpr std::string_view kCrun = R"({
    "ociVersion": "0.2.0",
    "fds": [
        "seccompFd"
    ],
    "pid": 6841,
    "metadata": "default",
    "state": {
        "ociVersion": "0.2.0",
        "id": "c1",
        "status": "creating",
        "pid": 6841,
        "bundle": "/run/b",
        "annotations": {
            "dev.sidecall.policy": "default"
        },
        "owner": "root"
    }
})";
// As runc 1.1 writes it.
constexpr std::string_view kRunc =
    R"({"ociVersion":"1.0.2-dev","fds":["seccompFd"],"pid":77,"state":{"ociVersion":"1.0.2-dev",)"
    R"("id":"c2","status":"running","pid":70,"bundle":"/run/b","annotations":null}})";

std::string error_of(std::string_view json) {
  const auto state = parse_container_process_state(json);
  return state ? "" : state.error().message;
}

// kRunc with one piece of its text replaced.
std::string runc_with(std::string_view from, std::string_view to) {
  std::string text(kRunc);
  const auto at = text.rfind(from);
  if (at == std::string::npos) ADD_FAILURE() << "no " << from << " in the text";
  return text.replace(at, from.size(), to);
}

TEST(ContainerProcessState, ReadsWhatCrunSends) {
  const auto state = parse_container_process_state(kCrun);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_THAT(state->fds, ElementsAre("seccompFd"));
  EXPECT_EQ(state->pid, 6841);
  EXPECT_EQ(state->metadata, "default");
  EXPECT_EQ(state->state.id, "c1");
  EXPECT_EQ(state->state.status, "creating");
  EXPECT_EQ(state->state.pid, 6841);
  EXPECT_EQ(state->state.bundle, "/run/b");
  EXPECT_THAT(state->state.annotations, ElementsAre(Pair("dev.sidecall.policy", "default")));
}

TEST(ContainerProcessState, ReadsWhatRuncSends) {
  const auto state = parse_container_process_state(kRunc);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->pid, 77);
  EXPECT_EQ(state->metadata, "");
  EXPECT_EQ(state->state.pid, 70);
  EXPECT_TRUE(state->state.annotations.empty());
}

TEST(ContainerProcessState, RefusesWhatIsMissing) {
  EXPECT_EQ(error_of("{}"), "$.fds: missing");
  EXPECT_EQ(error_of(runc_with(R"("fds":["seccompFd"],)", "")), "$.fds: missing");
  EXPECT_EQ(error_of(runc_with(R"("pid":77,)", "")), "$.pid: missing");
  EXPECT_EQ(error_of(runc_with(R"("pid":70,)", "")), "$.state.pid: missing");
  EXPECT_EQ(error_of(runc_with(R"("id":"c2",)", "")), "$.state.id: missing");
  EXPECT_EQ(error_of(runc_with(R"("status":"running",)", "")), "$.state.status: missing");
  EXPECT_EQ(error_of(R"({"fds":["seccompFd"],"pid":1})"), "$.state: missing");
}

// What crun 1.8.1 sends with a process that joins a running container.
TEST(ContainerProcessState, ReadsOneThatNamesNoProcess) {
  const auto state = parse_container_process_state(
      R"({"ociVersion":"0.2.0","fds":["seccompFd"],"pid":0,"metadata":"p","state":)"
      R"({"ociVersion":"0.2.0","id":"c","status":"running","pid":0,"bundle":"."}})");
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->pid, 0);
  EXPECT_EQ(state->state.pid, 0);
  EXPECT_EQ(state->state.id, "c");
}

TEST(ContainerProcessState, RefusesWrongTypesAndValues) {
  EXPECT_EQ(error_of("[]"), "$: must be an object");
  EXPECT_THAT(error_of("null"), HasSubstr("must be an object"));
  EXPECT_THAT(error_of(runc_with("77", "\"77\"")), HasSubstr("$.pid: must be a whole number"));
  EXPECT_THAT(error_of(runc_with("77", "-77")), HasSubstr("$.pid: must be a whole number"));
  EXPECT_THAT(error_of(runc_with("77", "7.0")), HasSubstr("$.pid: must be a whole number"));
  EXPECT_EQ(error_of(runc_with("77", "4294967297")), "$.pid: more than 2147483647");
  EXPECT_THAT(error_of(runc_with("running", "Running")), HasSubstr("$.state.status: must be"));
  EXPECT_THAT(error_of(runc_with("[\"seccompFd\"]", "[7]")), HasSubstr("$.fds[0]: must be"));
  EXPECT_THAT(error_of(runc_with("null", "{\"a\":1}")),
              HasSubstr("$.state.annotations.a: must be a string"));
  EXPECT_THAT(error_of(runc_with("null", "[]")), HasSubstr("$.state.annotations: must be"));
}

TEST(ContainerProcessState, RefusesIdsThatAreNoFileNames) {
  for (const char* id : {"", ".", "..", "a/b", "a b", "../x", "\\u0000", "a\\u0000b", "\\u00e9"}) {
    EXPECT_THAT(error_of(runc_with("c2", id)), HasSubstr("$.state.id: ")) << id;
  }
  EXPECT_THAT(error_of(runc_with("c2", std::string(1025, 'a'))), HasSubstr("$.state.id: "));
  EXPECT_EQ(error_of(runc_with("c2", std::string(1024, 'a'))), "");
  EXPECT_EQ(error_of(runc_with("c2", "A-z_0+9.x")), "");
}

TEST(ContainerProcessState, RefusesTrailingGarbageRepeatedKeysAndTooMuch) {
  EXPECT_THAT(error_of(std::string(kRunc) + "x"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(std::string(kRunc) + std::string(kRunc)), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(kRunc.substr(0, kRunc.size() - 1)), HasSubstr("not JSON"));
  EXPECT_EQ(error_of(runc_with(R"("pid":70)", R"("id":"c3","pid":70)")),
            "$.state.id: repeated key");
  EXPECT_THAT(error_of(std::string(kRunc) + std::string(1U << 20, ' ')),
              HasSubstr("more than the 1048576 allowed"));
}

TEST(State, NeedsAProcessOnlyWhereThereIsOne) {
  const auto stopped = parse_state(R"({"id":"a","status":"stopped","bundle":"/b"})");
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_EQ(stopped->pid, 0);
  const auto creating = parse_state(R"({"id":"a","status":"creating","pid":0,"bundle":"/b"})");
  ASSERT_TRUE(creating) << creating.error().message;
  const auto running = parse_state(R"({"id":"a","status":"running","bundle":"/b"})");
  ASSERT_FALSE(running);
  EXPECT_EQ(running.error().message, "$.pid: missing");
}

}  // namespace
}  // namespace sidecall::oci
