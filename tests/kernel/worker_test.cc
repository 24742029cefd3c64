// A real worker process over real notifications.
#include <dirent.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "base/file.h"
#include "emulators/table.h"
#include "gtest/gtest.h"
#include "kernel/sandbox.h"
#include "kernel/thread_directory.h"
#include "kernel/trial.h"

namespace sidecall::testing {
namespace {

using emulators::Program;
using emulators::Rule;

#if defined(__x86_64__)
constexpr kernel::Abi kNative = kernel::Abi::kX86_64;
#else
constexpr kernel::Abi kNative = kernel::Abi::kAArch64;
#endif

class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

Rule rule(emulators::Conditions when, Rule::Action action, std::int64_t number) {
  Rule made;
  made.when = std::move(when);
  made.action = action;
  made.number = number;
  return made;
}

emulators::Conditions first_argument_is(std::uint64_t value) {
  return {{.index = 0, .op = emulators::Compare::kEqual, .value = value}};
}

// getppid: fails where its first register is 1, gives 4242 where that is 2, else is the kernel's.
Program declared_answers() {
  Program program;
  program.policy = "declared";
  program.routes.push_back({.abi = kNative,
                            .nr = SYS_getppid,
                            .name = "getppid",
                            .rules = {rule(first_argument_is(1), Rule::Action::kErrno, EACCES),
                                      rule(first_argument_is(2), Rule::Action::kValue, 4242)}});
  return program;
}

TEST_F(WorkerTest, GivesDeclaredAnswers) {
  const SandboxOptions options{.program = declared_answers(), .meanwhile = {}};
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             checks.expect_errno(::syscall(SYS_getppid, 1), EACCES, "errno");
                             checks.expect(::syscall(SYS_getppid, 2) == 4242, "value");
                             const long parent = ::syscall(SYS_getppid, 3);
                             checks.expect(parent > 0 && parent != 4242, "continued");
                           }),
            "");
}

TEST_F(WorkerTest, CountsWhatItAnswers) {
  std::array<std::uint64_t, 4> seen{};
  const SandboxOptions options{
      .program = declared_answers(),
      .meanwhile = [&](worker::WorkerProcess& process, pid_t child, int) {
        siginfo_t end{};
        ::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT);
        const auto& route = process.statistics().routes().front();
        // A call is counted after its answer, when its caller may be gone already.
        for (int tries = 0; tries < 1000 && route.calls < 30; ++tries) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        seen = {route.calls, route.verdicts[0], route.verdicts[1], route.verdicts[2]};
        EXPECT_STREQ(route.name.data(), "getppid");
        EXPECT_GT(route.latency.quantile(0.5), 0U);
      }};
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             long sum = 0;
                             for (int count = 0; count < 30; ++count) {
                               sum += ::syscall(SYS_getppid, count % 3);
                             }
                             checks.expect(sum != 0, "called");
                           }),
            "");
  EXPECT_EQ(seen, (std::array<std::uint64_t, 4>{30, 10, 10, 10}));
}

TEST_F(WorkerTest, CallersMayDieAtAnyMoment) {
  const SandboxOptions options{.program = declared_answers(), .meanwhile = {}};
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             for (int round = 0; round < 300; ++round) {
                               const pid_t caller = ::fork();
                               if (caller == 0) {
                                 for (;;) ::syscall(SYS_getppid, 2);
                               }
                               std::this_thread::sleep_for(std::chrono::microseconds(round * 3));
                               ::kill(caller, SIGKILL);
                               ::waitpid(caller, nullptr, 0);
                             }
                             checks.expect(::syscall(SYS_getppid, 2) == 4242, "still served");
                           }),
            "");
}

TEST_F(WorkerTest, ManyThreadsGetTheirOwnAnswers) {
  const SandboxOptions options{.program = declared_answers(), .meanwhile = {}};
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             std::atomic<int> wrong{0};
                             std::vector<std::thread> threads;
                             for (int index = 0; index < 8; ++index) {
                               threads.emplace_back([&wrong] {
                                 for (int count = 0; count < 2000; ++count) {
                                   errno = 0;
                                   if (::syscall(SYS_getppid, 2) != 4242) ++wrong;
                                   if (::syscall(SYS_getppid, 1) != -1 || errno != EACCES) ++wrong;
                                 }
                               });
                             }
                             for (auto& thread : threads) thread.join();
                             checks.expect(wrong == 0, "wrong answers: " + std::to_string(wrong));
                           }),
            "");
}

std::string status_line(pid_t pid, const std::string& key) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/status");
  if (!text) return text.error().message;
  const auto at = text->find("\n" + key + ":\t");
  if (at == std::string::npos) return "no " + key;
  const auto start = at + key.size() + 3;
  return text->substr(start, text->find('\n', start) - start);
}

// It gives up what it does not need when its first listener comes, before that is served.
void wait_until_settled(pid_t worker) {
  for (int tries = 0; tries < 1000 && status_line(worker, "NoNewPrivs") != "1"; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::string hexadecimal(std::uint64_t bits) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(bits));
  return text.data();
}

std::string user_namespace(pid_t pid) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/user", ignored);
}

pid_t only_child_of(pid_t pid) {
  const std::string id = std::to_string(pid);
  const auto children = read_file("/proc/" + id + "/task/" + id + "/children");
  return children ? static_cast<pid_t>(std::strtol(children->c_str(), nullptr, 10)) : 0;
}

// /proc/PID/fd of the worker is not ours to list where it is undumpable and we lack a capability;
// as root it is.
std::size_t open_descriptors(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd";
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return 0;
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

// A worker that looks at its callers is the sandbox's own root and nobody outside; what the policy
// lets it do beyond that is its helper's.
TEST_F(WorkerTest, LivesInTheSandboxsUserNamespaceBesideItsHelper) {
  const emulators::Row& row = *emulators::find_row("mknod");
  const SandboxOptions options{
      .program = emulate("mknod", {{"devices", std::vector<std::string>{"c 1:3"}}},
                         {{kNative, SYS_mknodat}}),
      .meanwhile = [&row](worker::WorkerProcess& process, pid_t child, int) {
        wait_until_settled(process.pid());
        EXPECT_EQ(user_namespace(process.pid()), user_namespace(child));
        EXPECT_EQ(status_line(process.pid(), "Uid"), "100000\t100000\t100000\t100000");
        EXPECT_EQ(status_line(process.pid(), "Gid"), "100000\t100000\t100000\t100000");
        EXPECT_EQ(status_line(process.pid(), "CapPrm"), hexadecimal(row.rights.capabilities));
        const pid_t helper = only_child_of(process.pid());
        ASSERT_GT(helper, 0);
        wait_until_settled(helper);
        EXPECT_EQ(user_namespace(helper), user_namespace(::getpid()));
        EXPECT_EQ(status_line(helper, "CapPrm"), hexadecimal(row.rights.host_capabilities));
        EXPECT_EQ(status_line(helper, "CapBnd"), hexadecimal(row.rights.host_capabilities));
        // The standard streams, its control socket, the user namespace, /proc, a line to an actor;
        // "." and ".." count too.
        EXPECT_LE(open_descriptors(helper), 9U);
      }};
  // Served, so it has settled; and there until then.
  const auto served = [](Checks& checks) {
    checks.expect_errno(::mknod("/nowhere/x", S_IFCHR | 0600, ::makedev(1, 3)), ENOENT, "mknod");
  };
  EXPECT_EQ(run_in_sandbox(options, served), "");
}

TEST_F(WorkerTest, AmongTheHostsUsersKeepsNothingForMounts) {
  const auto& mount = *emulators::find_row("mount");
  const auto program = [] {
    return emulate("mount", {{"filesystems", std::vector<std::string>{"tmpfs"}}},
                   {{kNative, SYS_mount}});
  };
  SandboxOptions options{
      .program = program(), .meanwhile = [&mount](worker::WorkerProcess& process, pid_t, int) {
        wait_until_settled(process.pid());
        EXPECT_EQ(status_line(process.pid(), "CapPrm"), hexadecimal(mount.rights.capabilities));
        const pid_t helper = only_child_of(process.pid());
        ASSERT_GT(helper, 0);
        wait_until_settled(helper);
        EXPECT_EQ(status_line(helper, "CapPrm"), hexadecimal(mount.rights.host_capabilities));
      }};
  const auto mounts = [](Checks& checks) {
    checks.expect_ok(::mount("none", "/mnt", "tmpfs", 0, nullptr), "mount");
  };
  EXPECT_EQ(run_in_sandbox(options, mounts), "");

  options.user_namespace = false;
  options.meanwhile = [](worker::WorkerProcess& process, pid_t, int) {
    wait_until_settled(process.pid());
    EXPECT_EQ(status_line(process.pid(), "CapPrm"), hexadecimal(0));
    EXPECT_LE(only_child_of(process.pid()), 0);
  };
  EXPECT_EQ(run_in_sandbox(options, mounts), "") << "left to the kernel";
}

TEST_F(WorkerTest, KeepsOnlyWhatItsEmulatorsNeed) {
  const SandboxOptions options{
      .program = declared_answers(), .meanwhile = [](worker::WorkerProcess& process, pid_t, int) {
        wait_until_settled(process.pid());
        for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
          EXPECT_EQ(status_line(process.pid(), set), "0000000000000000") << set;
        }
        EXPECT_EQ(status_line(process.pid(), "NoNewPrivs"), "1");
      }};
  EXPECT_EQ(run_in_sandbox(options, [](Checks&) {}), "");
}

// A sandbox that lives until it is told to end, and is served before and after.
void wait_for_the_end(Checks& checks) {
  sigset_t end;
  ::sigemptyset(&end);
  ::sigaddset(&end, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &end, nullptr);
  checks.expect(::syscall(SYS_getppid, 2) == 4242, "served before");
  int ignored = 0;
  ::sigwait(&end, &ignored);
  checks.expect(::syscall(SYS_getppid, 2) == 4242, "served after");
}

// Runs `act` while such a sandbox waits.
auto while_it_waits(std::function<void(worker::WorkerProcess&, pid_t child, int listener)> act) {
  return [act = std::move(act)](worker::WorkerProcess& process, pid_t child, int listener) {
    while (process.statistics().routes().front().calls == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    act(process, child, listener);
    ::kill(child, SIGUSR1);
  };
}

TEST_F(WorkerTest, ServesListenersThatComeLaterAndLetsThemGo) {
  const SandboxOptions options{
      .program = declared_answers(),
      .meanwhile = while_it_waits([](worker::WorkerProcess& process, pid_t child, int) {
        std::size_t before = 0;
        for (int round = 0; round < 20; ++round) {
          auto trial = kernel::Trial::start(
              SYS_getppid, [] { return ::syscall(SYS_getppid, 2) == 4242 ? 0 : 1; });
          ASSERT_TRUE(trial) << trial.error().message;
          const UniqueFd listener = trial->take_listener();
          ASSERT_TRUE(process.add_listener(listener.get(), 100 + static_cast<unsigned>(round),
                                           trial->pid(), child));
          EXPECT_EQ(trial->wait(), 0);
          const auto report = process.receive_report();
          ASSERT_TRUE(report);
          EXPECT_EQ(report->kind, worker::WorkerReport::Kind::kListenerClosed) << report->text;
          EXPECT_EQ(report->tag, 100 + static_cast<unsigned>(round));
          if (round == 0) before = open_descriptors(process.pid());
        }
        EXPECT_EQ(open_descriptors(process.pid()), before);
      })};
  EXPECT_EQ(run_in_sandbox(options, wait_for_the_end), "");
}

TEST_F(WorkerTest, RefusesAForeignDescriptorAndServesOn) {
  const SandboxOptions options{
      .program = declared_answers(),
      .meanwhile = while_it_waits([](worker::WorkerProcess& process, pid_t child, int) {
        ASSERT_TRUE(process.add_listener(STDERR_FILENO, 77, child, child));
        const auto report = process.receive_report();
        ASSERT_TRUE(report);
        EXPECT_EQ(report->kind, worker::WorkerReport::Kind::kMessage);
        EXPECT_NE(report->text.find("not a seccomp listener"), std::string::npos) << report->text;
        const auto closed = process.receive_report();
        ASSERT_TRUE(closed);
        EXPECT_EQ(closed->kind, worker::WorkerReport::Kind::kListenerClosed);
      })};
  EXPECT_EQ(run_in_sandbox(options, wait_for_the_end), "");
}

// Kills the worker and has another take over its listener and its memory.
void replace(worker::WorkerProcess& process, pid_t child, int listener, const Program& program) {
  ::kill(process.pid(), SIGKILL);
  ::waitpid(process.pid(), nullptr, 0);
  auto successor = worker::WorkerProcess::launch({.worker_path = SIDECALL_WORKER,
                                                  .sandbox = "test",
                                                  .cpus = {},
                                                  .program = &program,
                                                  .predecessor = &process.statistics()});
  ASSERT_TRUE(successor) << successor.error().message;
  process = std::move(*successor);
  const auto ready = process.receive_report();
  ASSERT_TRUE(ready);
  ASSERT_EQ(ready->kind, worker::WorkerReport::Kind::kReady) << ready->text;
  ASSERT_TRUE(process.add_listener(listener, 1, child, child));
}

std::uint64_t calls_of(const worker::WorkerProcess& process) {
  std::uint64_t sum = 0;
  for (const auto& route : process.statistics().routes()) sum += route.calls;
  return sum;
}

// However slow the machine is: a worker that dies before it has served shows nothing.
void wait_for_calls(const worker::WorkerProcess& process, std::uint64_t more) {
  const std::uint64_t wanted = calls_of(process) + more;
  for (int tries = 0; calls_of(process) < wanted; ++tries) {
    ASSERT_LT(tries, 600'000) << "nobody is served";
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

TEST_F(WorkerTest, ASuccessorFinishesTheCallsThatWereInFlight) {
  Program program = declared_answers();
  Rule emulated;
  emulated.action = Rule::Action::kEmulate;
  program.instances.push_back({.emulator = "sysinfo", .options = {}});
  program.routes.push_back(
      {.abi = kNative, .nr = SYS_sysinfo, .name = "sysinfo", .rules = {emulated}});
  constexpr int kDeaths = 40;
  constexpr int kCallers = 4;
  const SandboxOptions options{
      .program = program,
      .meanwhile = [&](worker::WorkerProcess& process, pid_t child, int listener) {
        for (int death = 0; death < kDeaths; ++death) {
          wait_for_calls(process, 1 + static_cast<std::uint64_t>(death) * 37 % 100);
          replace(process, child, listener, program);
        }
        ::kill(child, SIGUSR1);
      }};
  static std::atomic<bool> done;
  done = false;
  const Body body = [](Checks& checks) {
    ::signal(SIGUSR1, [](int) { done = true; });
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int index = 0; index < kCallers; ++index) {
      threads.emplace_back([&] {
        while (!done) {
          struct sysinfo info {};
          if (::syscall(SYS_getppid, 2) != 4242) ++wrong;
          if (::sysinfo(&info) != 0 || info.totalram == 0) ++wrong;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    checks.expect(wrong == 0, std::to_string(wrong) + " wrong answers");
  };
  EXPECT_EQ(run_in_sandbox(options, body), "");
}

// As if two workers had come to every call in flight of the listener 1, and died of it.
void crash_twice(const worker::Journal& journal) {
  for (int times = 0; times < 2; ++times) {
    journal.blame(true);
    for (worker::JournalSlot* slot : journal.unfinished(1)) slot->left = 0;
  }
}

// Every call in flight is declared the cause of two crashes: it is given up, and only it.
TEST_F(WorkerTest, ACallThatCostsWorkersIsAnsweredWithEio) {
  const Program program = declared_answers();
  constexpr int kMostDeaths = 5000;  // until one finds a call in flight
  std::uint64_t given_up = 0;
  const SandboxOptions options{
      .program = program,
      .meanwhile = [&](worker::WorkerProcess& process, pid_t child, int listener) {
        for (int death = 0; death < kMostDeaths && given_up == 0; ++death) {
          ::kill(process.pid(), SIGKILL);
          pollfd dead{process.pidfd(), POLLIN, 0};
          ::poll(&dead, 1, -1);
          crash_twice(process.statistics().journal());
          replace(process, child, listener, program);
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          given_up = process.statistics().header().poisonous;
        }
        ::kill(child, SIGUSR1);
      }};
  static std::atomic<bool> done;
  done = false;
  const Body body = [](Checks& checks) {
    ::signal(SIGUSR1, [](int) { done = true; });
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int index = 0; index < 4; ++index) {
      threads.emplace_back([&] {
        while (!done) {
          const long answer = ::syscall(SYS_getppid, 2);
          if (answer != 4242 && !(answer == -1 && errno == EIO)) ++wrong;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    checks.expect(wrong == 0, std::to_string(wrong) + " wrong answers");
  };
  std::string outcome = run_in_sandbox(options, body);
  // The last worker says it once for each call.
  const std::string said = "worker: a call of getppid is answered with EIO: workers died of it\n";
  while (outcome.starts_with(said)) outcome.erase(0, said.size());
  EXPECT_EQ(outcome, "");
  EXPECT_GT(given_up, 0U);
}

// As after an agent's death, when the next one cannot know what the worker has been told.
TEST_F(WorkerTest, AListenerThatComesTwiceIsServedOnce) {
  const SandboxOptions options{
      .program = declared_answers(),
      .meanwhile = while_it_waits([](worker::WorkerProcess& process, pid_t child, int listener) {
        for (int times = 0; times < 3; ++times) {
          ASSERT_TRUE(process.add_listener(listener, 1, child, child));
        }
        ASSERT_TRUE(process.add_listener(STDERR_FILENO, 77, child, child));
        // It has read them all when it complains of the last.
        const auto report = process.receive_report();
        ASSERT_TRUE(report);
        EXPECT_NE(report->text.find("not a seccomp listener"), std::string::npos) << report->text;
        EXPECT_EQ(process.statistics().header().listeners, 1U);
        EXPECT_EQ(process.receive_report()->tag, 77U);
      })};
  EXPECT_EQ(run_in_sandbox(options, wait_for_the_end), "");
}

// While there is no agent its messages are not read, and there are more of them than fit.
TEST_F(WorkerTest, ServesOnWhereNobodyReadsAndTellsLaterWhatMustBeTold) {
  constexpr unsigned kListeners = 700;
  const SandboxOptions options{
      .program = declared_answers(),
      .meanwhile = while_it_waits([](worker::WorkerProcess& process, pid_t child, int) {
        for (unsigned tag = 100; tag < 100 + kListeners; ++tag) {
          auto trial = kernel::Trial::start(
              SYS_getppid, [] { return ::syscall(SYS_getppid, 2) == 4242 ? 0 : 1; });
          ASSERT_TRUE(trial) << trial.error().message;
          const UniqueFd listener = trial->take_listener();
          ASSERT_TRUE(process.add_listener(listener.get(), tag, trial->pid(), child));
          ASSERT_EQ(trial->wait(), 0) << "served";
        }
        std::set<std::uint64_t> closed;
        while (closed.size() < kListeners) {
          const auto report = process.receive_report();
          ASSERT_TRUE(report);
          ASSERT_EQ(report->kind, worker::WorkerReport::Kind::kListenerClosed) << report->text;
          EXPECT_TRUE(closed.insert(report->tag).second) << report->tag;
        }
      })};
  EXPECT_EQ(run_in_sandbox(options, wait_for_the_end), "");
}

TEST(WorkerProgram, DoesNotStartByHand) {
  const int status = std::system(SIDECALL_WORKER " by-hand >/dev/null 2>&1 3>&- 4>&- 5>&-");
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace
}  // namespace sidecall::testing
