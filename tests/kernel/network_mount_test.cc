// Mounts that look at a network namespace, made in the workshop: sysfs, which shows that of whoever
// mounted it, stands for the filesystems of servers.
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "kernel/sandbox.h"
#include "kernel/workshop.h"

namespace sidecall::testing {
namespace {

constexpr const char* kOurs = "inner0";

// Renames the loopback interface of the network namespace that the process is in.
bool rename_loopback() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  std::strcpy(request.ifr_newname, kOurs);
  return ::ioctl(socket.get(), SIOCSIFNAME, &request) == 0;
}

struct Namespaces {
  UniqueFd user;
  UniqueFd network;  // with an interface of the name kOurs
};

// Made by a child and then held by descriptors alone. `own_user`: in a user namespace of its own.
Namespaces make_namespaces(bool own_user) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool made =
        ::unshare(CLONE_NEWNET | (own_user ? CLONE_NEWUSER : 0)) == 0 && rename_loopback();
    if (made) ::raise(SIGSTOP);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  Namespaces made;
  if (WIFSTOPPED(status)) {
    const std::string directory = "/proc/" + std::to_string(child) + "/ns/";
    made.user = UniqueFd(::open((directory + "user").c_str(), O_RDONLY | O_CLOEXEC));
    made.network = UniqueFd(::open((directory + "net").c_str(), O_RDONLY | O_CLOEXEC));
  }
  ::kill(child, SIGKILL);
  if (WIFSTOPPED(status)) ::waitpid(child, nullptr, 0);
  return made;
}

// What a helper does for one mount.
class Workshop {
 public:
  explicit Workshop(int user_namespace)
      : proc_(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)),
        entered_(kernel::enter_workshop()),
        mounts_(proc_.get(), user_namespace) {}

  // 0 or the errno; where it is mounted, whether kOurs shows in it.
  int mount_sysfs(int network, bool& shows_ours) {
    const auto made = mounts_.mount_aside({.type = "sysfs",
                                           .source = "none",
                                           .data = "",
                                           .flags = 0,
                                           .device = 0,
                                           .id_mapped = false,
                                           .network = network});
    if (!made) return made.error().value;
    shows_ours = ::access((std::string("/.ready/class/net/") + kOurs).c_str(), F_OK) == 0;
    mounts_.drop_aside();
    return 0;
  }
  // Whether this thread is on the network of `network`.
  [[nodiscard]] bool is_on(int network) const {
    struct stat ours {};
    struct stat theirs {};
    return ::fstatat(proc_.get(), "thread-self/ns/net", &ours, 0) == 0 &&
           ::fstat(network, &theirs) == 0 && ours.st_ino == theirs.st_ino;
  }
  [[nodiscard]] bool is_entered() const { return entered_.has_value(); }

 private:
  UniqueFd proc_;
  Result<void> entered_;
  kernel::HostMounts mounts_;
};

class NetworkMountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

TEST_F(NetworkMountTest, IsMadeOnTheCallersNetworkAndTheThreadComesBack) {
  const auto failures = run_natively([](Checks& checks) {
    const Namespaces sandbox = make_namespaces(true);
    checks.expect(sandbox.user && sandbox.network, "namespaces");
    Workshop workshop(sandbox.user.get());
    checks.expect(workshop.is_entered(), "entering the workshop");
    bool shows_ours = false;
    checks.expect(workshop.mount_sysfs(sandbox.network.get(), shows_ours) == 0, "mounting");
    checks.expect(shows_ours, "it is of the caller's network");
    checks.expect(!workshop.is_on(sandbox.network.get()), "the thread is back");
    checks.expect(workshop.mount_sysfs(-1, shows_ours) == 0, "mounting without a network");
    checks.expect(!shows_ours, "it is of our own");
  });
  EXPECT_EQ(failures, "");
}

TEST_F(NetworkMountTest, IsNotMadeOnANetworkThatIsNotTheSandboxs) {
  const auto failures = run_natively([](Checks& checks) {
    const Namespaces sandbox = make_namespaces(true);
    const Namespaces neighbour = make_namespaces(true);
    const Namespaces host = make_namespaces(false);
    Workshop workshop(sandbox.user.get());
    bool shows_ours = false;
    checks.expect(workshop.mount_sysfs(neighbour.network.get(), shows_ours) == EPERM,
                  "another sandbox's");
    checks.expect(workshop.mount_sysfs(host.network.get(), shows_ours) == EPERM, "the host's");
    checks.expect(workshop.mount_sysfs(sandbox.user.get(), shows_ours) == EPERM, "no network");
    checks.expect(!shows_ours, "nothing was mounted");
  });
  EXPECT_EQ(failures, "");
}

}  // namespace
}  // namespace sidecall::testing
