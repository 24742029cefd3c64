#include "placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "placement/cgroup.h"

namespace sidecall::placement {
namespace {

using testing::HasSubstr;

CpuSet affinity_of(pid_t tid) {
  cpu_set_t mask;
  EXPECT_EQ(::sched_getaffinity(tid, sizeof mask, &mask), 0);
  return CpuSet(mask);
}

CpuSet first_of(const CpuSet& cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  unsigned cpu = 0;
  while (!CPU_ISSET(cpu, &cpus.mask())) ++cpu;
  CPU_SET(cpu, &mask);
  return CpuSet(mask);
}

// A process with two threads and a child of its own; all ids are known.
class Child {
 public:
  Child() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ids_.own_child = ::fork();
      if (ids_.own_child == 0) {
        for (;;) ::pause();
      }
      std::thread second([&] {
        ids_.second_thread = ::gettid();
        static_cast<void>(!::write(ends[1], &ids_, sizeof ids_));
        ::pause();
      });
      ::pause();
      ::_exit(0);
    }
    EXPECT_EQ(::read(ends[0], &ids_, sizeof ids_), static_cast<ssize_t>(sizeof ids_));
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void end() {
    if (pid_ <= 0) return;
    ::kill(ids_.own_child, SIGKILL);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] pid_t second_thread() const { return ids_.second_thread; }
  [[nodiscard]] pid_t own_child() const { return ids_.own_child; }

 private:
  struct Ids {
    pid_t second_thread = -1;
    pid_t own_child = -1;
  };
  pid_t pid_ = -1;
  Ids ids_;
};

TEST(PlaceProcess, PutsEachThreadAndChildOnTheCpus) {
  const Child child;
  const CpuSet one = first_of(affinity_of(0));
  const auto placed = place_process(child.pid(), one);
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_EQ(affinity_of(child.pid()).list(), one.list());
  EXPECT_EQ(affinity_of(child.second_thread()).list(), one.list());
  EXPECT_EQ(affinity_of(child.own_child()).list(), one.list());
}

TEST(PlaceProcess, NoCpuLeftIsAnErrorThatNamesThem) {
  const Child child;
  const auto placed = place_process(child.pid(), CpuSet::parse("1023").value());
  ASSERT_FALSE(placed);
  EXPECT_THAT(placed.error().message, HasSubstr("on CPUs 1023"));
}

TEST(PlaceProcess, AProcessThatHasGoneIsAnError) {
  Child child;
  const pid_t pid = child.pid();
  child.end();
  const auto placed = place_process(pid, affinity_of(0));
  ASSERT_FALSE(placed);
  EXPECT_THAT(placed.error().message, HasSubstr(std::to_string(pid)));
}

TEST(SandboxCpus, AreWithinTheAffinityOfTheProcess) {
  const auto cpus = sandbox_cpus(::getpid());
  ASSERT_TRUE(cpus) << cpus.error().message;
  EXPECT_FALSE(cpus->empty());
  EXPECT_EQ(cpus->intersection(affinity_of(0)).list(), cpus->list());
}

TEST(SandboxCpus, FollowTheAffinityOfTheProcess) {
  const Child child;
  const CpuSet one = first_of(affinity_of(0));
  ASSERT_TRUE(place_process(child.pid(), one));
  const auto cpus = sandbox_cpus(child.pid());
  ASSERT_TRUE(cpus) << cpus.error().message;
  EXPECT_EQ(cpus->list(), one.list());
}

TEST(SandboxCpus, OfAProcessThatHasGoneAreAnError) {
  Child child;
  const pid_t pid = child.pid();
  child.end();
  const auto cpus = sandbox_cpus(pid);
  ASSERT_FALSE(cpus);
  EXPECT_THAT(cpus.error().message, HasSubstr(std::to_string(pid)));
}

std::string cgroup_of(pid_t pid) {
  const auto found = find_cgroup(pid, "cpu");
  return found && *found ? (*found)->path : "";
}

// A cgroup of the cpu controller below our own, v1 as `Charge::kAuto` wants it.
class CpuCgroup {
 public:
  CpuCgroup() {
    const auto ours = find_cgroup(::getpid(), "cpu");
    if (!ours || !*ours || (*ours)->version != CgroupVersion::kV1) return;
    path_ = (*ours)->path + "/sidecall-placement-test-" + std::to_string(::getpid());
    if (::mkdir(path_.c_str(), 0755) != 0) path_.clear();
  }
  ~CpuCgroup() {
    // A process that has just been reaped may be in it for a moment longer.
    while (!path_.empty() && ::rmdir(path_.c_str()) != 0 && errno == EBUSY) ::usleep(1000);
  }
  CpuCgroup(const CpuCgroup&) = delete;
  CpuCgroup& operator=(const CpuCgroup&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(TakeSeat, PutsAProcessAndItsChildIntoTheCgroupOfTheSandbox) {
  const CpuCgroup cgroup;
  if (cgroup.path().empty()) GTEST_SKIP() << "no writable cgroup v1 with the cpu controller";
  const Child sandbox;
  const Child worker;
  auto seat = sandbox_seat(sandbox.pid(), Charge::kAuto, true);
  ASSERT_TRUE(seat) << seat.error().message;
  seat->cpu_cgroup = cgroup.path();
  ASSERT_TRUE(take_seat(sandbox.pid(), *seat, ""));

  seat = sandbox_seat(sandbox.pid(), Charge::kAuto, true);
  ASSERT_TRUE(seat) << seat.error().message;
  EXPECT_EQ(seat->cpu_cgroup, cgroup.path());
  const auto taken = take_seat(worker.pid(), *seat, "");
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(cgroup_of(worker.pid()), cgroup.path());
  EXPECT_EQ(cgroup_of(worker.own_child()), cgroup.path());

  // And back, when the sandbox calls no longer.
  seat = sandbox_seat(sandbox.pid(), Charge::kAuto, false);
  ASSERT_TRUE(seat) << seat.error().message;
  EXPECT_EQ(seat->cpu_cgroup, "");
  ASSERT_TRUE(take_seat(worker.pid(), *seat, cgroup_of(::getpid())));
  EXPECT_EQ(cgroup_of(worker.pid()), cgroup_of(::getpid()));
}

TEST(TakeSeat, AgentChargedWorkersStayInTheirCgroup) {
  const auto seat = sandbox_seat(::getpid(), Charge::kAgent, true);
  ASSERT_TRUE(seat) << seat.error().message;
  EXPECT_EQ(seat->cpu_cgroup, "");
  const Child worker;
  const std::string before = cgroup_of(worker.pid());
  ASSERT_TRUE(take_seat(worker.pid(), *seat, ""));
  EXPECT_EQ(cgroup_of(worker.pid()), before);
}

TEST(TakeSeat, ACgroupThatHasGoneIsAnErrorThatNamesIt) {
  const Child worker;
  const auto taken =
      take_seat(worker.pid(), {.cpus = affinity_of(0), .cpu_cgroup = "/sys/fs/cgroup/gone"}, "");
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("/sys/fs/cgroup/gone"));
}

}  // namespace
}  // namespace sidecall::placement
