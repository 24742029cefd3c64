#include "oci_runtime/invocation.h"

#include <gtest/gtest.h>

#include <vector>

namespace sidecall::oci_runtime {
namespace {

Invocation read(std::vector<const char*> words) {
  return read_invocation(words);
}

// As the engines of Debian 12 call their runtime.
TEST(Invocation, OfDocker) {
  const auto it = read({"--root", "/var/run/docker/runtime-runc/moby", "--log",
                        "/run/containerd/x/log.json", "--log-format", "json", "create", "--bundle",
                        "/run/containerd/x", "--pid-file", "/run/containerd/x/init.pid", "abc"});
  EXPECT_TRUE(it.creates);
  EXPECT_EQ(it.config_path(), "/run/containerd/x/config.json");
  EXPECT_EQ(it.container, "abc");
  EXPECT_EQ(it.log, "/run/containerd/x/log.json");
  EXPECT_EQ(it.log_format, Invocation::LogFormat::kJson);
}

TEST(Invocation, OfContainerdWithSystemdCgroups) {
  const auto it = read({"--root", "/run/containerd/runc/k8s.io", "--log", "/l", "--log-format",
                        "json", "--systemd-cgroup", "create", "--bundle", "/b", "--pid-file", "/p",
                        "--console-socket", "/c", "abc"});
  EXPECT_TRUE(it.creates);
  EXPECT_EQ(it.bundle, "/b");
}

TEST(Invocation, OfPodman) {
  const auto it =
      read({"--cgroup-manager", "cgroupfs", "create", "--bundle", "/b", "--pid-file", "/p", "abc"});
  EXPECT_TRUE(it.creates);
  EXPECT_EQ(it.config_path(), "/b/config.json");
  EXPECT_EQ(it.log, "");
}

TEST(Invocation, ByHand) {
  EXPECT_EQ(read({"run", "abc"}).config_path(), "./config.json");
  EXPECT_EQ(read({"run", "-b", "/b", "abc"}).bundle, "/b");
  EXPECT_EQ(read({"run", "-b/b", "abc"}).bundle, "/b");
  EXPECT_EQ(read({"run", "--bundle=/b", "abc"}).bundle, "/b");
  EXPECT_EQ(read({"run", "-bundle", "/b", "abc"}).bundle, "/b");
  EXPECT_EQ(read({"--log=/l", "run", "abc"}).log, "/l");
  EXPECT_EQ(read({"run", "--bundle", "/b", "--config", "/other.json", "abc"}).config_path(),
            "/other.json");
  EXPECT_EQ(read({"run", "-f", "other.json", "abc"}).config_path(), "other.json");
}

TEST(Invocation, OnlyCreateAndRunReadABundle) {
  for (const char* command : {"start", "state", "exec", "delete", "kill", "features", "restore",
                              "update", "what-comes-next-year"}) {
    EXPECT_FALSE(read({"--root", "/r", command, "--bundle", "/b", "abc"}).creates) << command;
  }
  EXPECT_FALSE(read({"--version"}).creates);
  EXPECT_FALSE(read({}).creates);
}

TEST(Invocation, AValueIsNoCommand) {
  EXPECT_FALSE(read({"--root", "create", "state", "abc"}).creates);
  EXPECT_FALSE(read({"--log", "run"}).creates);
  EXPECT_FALSE(read({"--log"}).creates);
  // What stands after the command's own words is the container's name.
  EXPECT_EQ(read({"create", "abc", "--bundle", "/b"}).bundle, ".");
  EXPECT_EQ(read({"create", "--pid-file", "--bundle", "/b"}).bundle, ".");
  EXPECT_EQ(read({"create", "--", "-b/b"}).bundle, ".");
}

}  // namespace
}  // namespace sidecall::oci_runtime
