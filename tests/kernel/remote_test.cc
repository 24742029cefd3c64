// Calls that a plugin answers, over real notifications: the worker is real, the bridge is the test.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/pass_fd.h"
#include "emulators/remote_call.h"
#include "gtest/gtest.h"
#include "kernel/sandbox.h"

namespace sidecall::testing {
namespace {

namespace remote = emulators::remote;
using emulators::Remote;
using emulators::Rule;
using remote::ArgumentShape;

#if defined(__x86_64__)
constexpr kernel::Abi kNative = kernel::Abi::kX86_64;
#else
constexpr kernel::Abi kNative = kernel::Abi::kAArch64;
#endif

// One end of a plugin's socket. The bridge that a test plays.
class Bridge {
 public:
  Bridge(worker::WorkerProcess& worker, std::uint64_t generation, std::uint32_t plugin = 0) {
    std::array<int, 2> ends{-1, -1};
    static_cast<void>(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()));
    socket_ = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    EXPECT_TRUE(worker.connect_bridge(theirs.get(), generation, plugin));
  }
  void say(const remote::FromBridge& message, int fd = -1) {
    EXPECT_TRUE(send_with_fd(socket_.get(), encode(message), fd));
  }
  void say_bytes(std::string_view bytes) { EXPECT_TRUE(send_with_fd(socket_.get(), bytes, -1)); }
  remote::Call next_call() {
    for (;;) {
      auto received = receive_with_fds(socket_.get(), remote::kMostMessageBytes);
      if (!received || received->bytes.empty()) {
        ADD_FAILURE() << "no call comes";
        return {};
      }
      auto message = remote::decode_to_bridge(received->bytes);
      if (!message) {
        ADD_FAILURE() << message.error().message;
        return {};
      }
      if (auto* call = std::get_if<remote::Call>(&*message)) return std::move(*call);
    }
  }
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  UniqueFd socket_;
};

class RemoteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

emulators::Program remote_program(const Remote& rule,
                                  std::vector<std::pair<std::string, int>> calls) {
  emulators::Program program;
  program.policy = "remote";
  program.plugins = {"/run/plugin.sock"};
  program.remotes = {rule};
  for (const auto& [name, nr] : calls) {
    Rule each;
    each.action = Rule::Action::kRemote;
    program.routes.push_back({.abi = kNative, .nr = nr, .name = name, .rules = {each}});
  }
  return program;
}

constexpr Remote kErrnoRule{.deadline_ms = 20'000, .errno_value = EIO};

remote::CallShape shape(std::string syscall, std::vector<ArgumentShape> arguments) {
  remote::CallShape made;
  made.syscall = std::move(syscall);
  made.arguments = std::move(arguments);
  return made;
}

ArgumentShape written_struct(std::uint8_t index, std::uint32_t size) {
  ArgumentShape made;
  made.index = index;
  made.kind = ArgumentShape::Kind::kStruct;
  made.size = size;
  made.write = true;
  return made;
}

ArgumentShape path_at(std::uint8_t index) {
  ArgumentShape made;
  made.index = index;
  made.kind = ArgumentShape::Kind::kCString;
  made.size = 4096;
  made.read = true;
  return made;
}

remote::Answer answer(std::uint64_t id, decltype(remote::Answer::given) given) {
  remote::Answer made;
  made.id = id;
  made.given = std::move(given);
  return made;
}

void wait_for_exit(pid_t child) {
  siginfo_t end{};
  ::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT);
}

TEST_F(RemoteTest, GetsTheCallAndWritesTheAnswer) {
  const SandboxOptions options{
      .program = remote_program(kErrnoRule, {{"uname", SYS_uname}}),
      .meanwhile = [&](worker::WorkerProcess& worker, pid_t child, int) {
        Bridge bridge(worker, 1);
        auto described = shape("uname", {written_struct(0, sizeof(utsname))});
        described.wants_caller = true;
        bridge.say(remote::Described{1, {described}});
        const auto call = bridge.next_call();
        EXPECT_EQ(call.syscall, "uname");
        EXPECT_EQ(call.nr, SYS_uname);
        EXPECT_EQ(call.abi, kNative);
        EXPECT_EQ(call.tid, child);
        EXPECT_TRUE(call.buffers.empty());
        ASSERT_TRUE(call.caller);
        EXPECT_EQ(call.caller->fsuid, 0U);
        EXPECT_EQ(call.caller->working_directory, "/tmp");
        utsname names{};
        std::strcpy(names.release, "9.9-remote");
        auto given = answer(call.id, emulators::Value{0});
        given.writes.push_back(
            {0, std::string(reinterpret_cast<const char*>(&names), sizeof names)});
        bridge.say(given);
        wait_for_exit(child);
      }};
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             ::chdir("/tmp");
                             utsname names{};
                             checks.expect_ok(::uname(&names), "uname");
                             checks.expect(std::string(names.release) == "9.9-remote",
                                           names.release);
                           }),
            "");
}

TEST_F(RemoteTest, InjectsFilesAndOpensThemAsTheCaller) {
  const SandboxOptions options{
      .program = remote_program({.deadline_ms = 20'000, .errno_value = EIO, .may_continue = true},
                                {{"openat", SYS_openat}}),
      .meanwhile = [&](worker::WorkerProcess& worker, pid_t child, int) {
        Bridge bridge(worker, 1);
        bridge.say(remote::Described{1, {shape("openat", {path_at(1)})}});
        for (bool going = true; going;) {
          const auto call = bridge.next_call();
          const std::string path = call.buffers.empty() ? "" : call.buffers[0].data;
          if (path == "/virtual") {
            UniqueFd memory(::memfd_create("virtual", MFD_CLOEXEC | MFD_ALLOW_SEALING));
            ::write(memory.get(), "contents", 8);
            ::fchmod(memory.get(), 0444);
            ::fcntl(memory.get(), F_ADD_SEALS,
                    F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
            bridge.say(answer(call.id, remote::File{.cloexec = true}), memory.get());
          } else if (path == "/made") {
            bridge.say(answer(call.id, remote::OpenFile{"made", O_RDWR | O_CREAT, 0666}));
          } else if (path == "/secret") {
            bridge.say(answer(call.id, remote::OpenFile{"/tmp/remote-secret", O_RDONLY, 0}));
          } else if (path == "/odd") {
            bridge.say(answer(call.id, remote::OpenFile{"/", O_RDONLY | O_NOATIME, 0}));
          } else if (path == "/end") {
            bridge.say(answer(call.id, Errno{ENOTTY}));
            going = false;
          } else {
            bridge.say(answer(call.id, emulators::Continue{}));
          }
        }
        wait_for_exit(child);
      }};
  EXPECT_EQ(
      run_in_sandbox(
          options,
          [](Checks& checks) {
            ::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr);
            ::chdir("/tmp");
            const auto open = [](const char* path) {
              return ::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
            };
            const auto file = static_cast<int>(open("/virtual"));
            checks.expect_ok(file, "virtual");
            std::array<char, 32> text{};
            checks.expect(::read(file, text.data(), text.size()) == 8, "eight bytes");
            checks.expect(std::string(text.data()) == "contents", text.data());
            checks.expect((::fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY, "read-only");
            checks.expect(::fcntl(file, F_GETFD) == FD_CLOEXEC, "close on exec");
            checks.expect(::mmap(nullptr, 8, PROT_READ, MAP_SHARED, file, 0) != MAP_FAILED, "map");
            ::umask(027);
            const auto made = static_cast<int>(open("/made"));
            checks.expect_ok(made, "made");
            struct stat about {};
            checks.expect(::stat("/tmp/made", &about) == 0 && (about.st_mode & 0777) == 0640,
                          "its umask");
            checks.expect(about.st_uid == 0, "its owner");
            checks.expect(::fcntl(made, F_GETFD) == 0, "stays over exec");
            ::close(static_cast<int>(
                ::syscall(SYS_openat, AT_FDCWD, "/tmp/remote-secret", O_CREAT | O_WRONLY, 0600)));
            checks.expect_errno(open("/odd"), EINVAL, "a flag that is not the plugin's to give");
            if (::fork() == 0) {
              ::setresuid(1000, 1000, 1000);
              ::prctl(PR_SET_DUMPABLE, 1);  // as execve(2) leaves it
              const long secret = open("/secret");
              ::_exit(secret == -1 && errno == EACCES ? 0 : 1);
            }
            int status = 0;
            ::wait(&status);
            checks.expect(status == 0, "no more right than the caller has");
            checks.expect_errno(open("/end"), ENOTTY, "the plugin's errno");
          }),
      "");
}

TEST_F(RemoteTest, FollowsTheRuleWhileThereIsNoPlugin) {
  const SandboxOptions options{
      .program = remote_program(kErrnoRule, {{"uname", SYS_uname}, {"getppid", SYS_getppid}}),
      .meanwhile = [&](worker::WorkerProcess& worker, pid_t child, int) {
        auto bridge = std::make_unique<Bridge>(worker, 1);
        // What is not known to be absent is waited for.
        auto repeatable = shape("getppid", {});
        repeatable.repeatable = true;
        const remote::Described described{1, {repeatable, shape("uname", {})}};
        bridge->say(described);
        auto call = bridge->next_call();
        EXPECT_EQ(call.syscall, "uname");
        bridge->say(remote::Lost{});  // mid-call: the rule's errno; and the next one, at once
        bridge->say(described);
        call = bridge->next_call();
        EXPECT_EQ(call.syscall, "getppid");
        // Not the plugin but the bridge dies: its successor is sent it again.
        bridge = std::make_unique<Bridge>(worker, 2);
        bridge->say(described);
        call = bridge->next_call();
        EXPECT_EQ(call.syscall, "getppid");
        bridge->say(answer(call.id + 1000, emulators::Value{1}));  // of no call: dropped
        bridge->say(answer(call.id, emulators::Value{4242}));
        wait_for_exit(child);
        EXPECT_EQ(worker.statistics().header().remote_unknown, 1U);
        EXPECT_EQ(worker.statistics().header().remote_lost, 2U);
      }};
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             utsname names{};
                             checks.expect_errno(::uname(&names), EIO, "lost");
                             long given = -1;
                             errno = EIO;
                             // As long as the plugin is known to be absent, at once.
                             while (given == -1 && errno == EIO) given = ::syscall(SYS_getppid);
                             checks.expect(given == 4242, "sent again");
                           }),
            "");
}

TEST_F(RemoteTest, EndsWhatIsLate) {
  const SandboxOptions options{
      .program = remote_program({.deadline_ms = 30, .errno_value = ETIMEDOUT},
                                {{"uname", SYS_uname}, {"getppid", SYS_getppid}}),
      .meanwhile = [&](worker::WorkerProcess& worker, pid_t child, int) {
        Bridge bridge(worker, 1);
        bridge.say(remote::Described{1, {shape("uname", {}), shape("getppid", {})}});
        const auto late = bridge.next_call();
        const auto next = bridge.next_call();
        bridge.say(answer(late.id, emulators::Value{0}));
        EXPECT_EQ(next.syscall, "getppid");
        wait_for_exit(child);
        EXPECT_EQ(worker.statistics().header().remote_late, 2U);
        EXPECT_EQ(worker.statistics().header().remote_unknown, 1U);
      }};
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             utsname names{};
                             checks.expect_errno(::uname(&names), ETIMEDOUT, "late");
                             checks.expect_errno(::syscall(SYS_getppid), ETIMEDOUT, "late");
                           }),
            "");
}

TEST_F(RemoteTest, AnotherWorkerAsksAgain) {
  bool was_asked_twice = false;
  SandboxOptions options{.program =
                             remote_program({.absent = Remote::Absent::kWait, .errno_value = EIO},
                                            {{"getppid", SYS_getppid}, {"uname", SYS_uname}})};
  options.meanwhile = [&](worker::WorkerProcess& worker, pid_t child, int listener) {
    auto repeatable = shape("getppid", {});
    repeatable.repeatable = true;
    const remote::Described described{1, {repeatable, shape("uname", {})}};
    const auto replace_worker = [&] {
      ::kill(worker.pid(), SIGKILL);
      ::waitpid(worker.pid(), nullptr, 0);
      auto next = worker::WorkerProcess::launch({.worker_path = SIDECALL_WORKER,
                                                 .sandbox = "test",
                                                 .cpus = {},
                                                 .program = &options.program,
                                                 .predecessor = &worker.statistics()});
      ASSERT_TRUE(next);
      worker = std::move(*next);
      ASSERT_TRUE(worker.receive_report());
      ASSERT_TRUE(worker.add_listener(listener, 1, child, child));
    };
    Bridge bridge(worker, 1);
    bridge.say(described);
    const auto first = bridge.next_call();
    replace_worker();
    Bridge second(worker, 2);
    second.say(described);
    const auto repeated = second.next_call();
    was_asked_twice = repeated.syscall == first.syscall && repeated.tid == first.tid;
    second.say(answer(repeated.id, emulators::Value{77}));
    EXPECT_EQ(second.next_call().syscall, "uname");
    replace_worker();
    Bridge third(worker, 3);
    third.say(described);
    wait_for_exit(child);
  };
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             checks.expect(::syscall(SYS_getppid) == 77, "asked again");
                             utsname names{};
                             checks.expect_errno(::uname(&names), EINTR, "not asked again");
                           }),
            "");
  EXPECT_TRUE(was_asked_twice);
}

TEST_F(RemoteTest, ABridgeThatSaysNonsenseIsGivenUp) {
  const SandboxOptions options{.program = remote_program(kErrnoRule, {{"uname", SYS_uname}}),
                               .meanwhile = [&](worker::WorkerProcess& worker, pid_t child, int) {
                                 Bridge bad(worker, 5);
                                 bad.say_bytes("nonsense");
                                 const auto report = worker.receive_report();
                                 ASSERT_TRUE(report);
                                 EXPECT_EQ(report->kind, worker::WorkerReport::Kind::kBridgeLost);
                                 EXPECT_EQ(report->tag, 5U);
                                 Bridge good(worker, 6);
                                 good.say(remote::Described{1, {shape("uname", {})}});
                                 good.say(answer(good.next_call().id, emulators::Value{3}));
                                 wait_for_exit(child);
                               }};
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             utsname names{};
                             checks.expect(::syscall(SYS_uname, &names) == 3, "answered");
                           }),
            "");
}

TEST_F(RemoteTest, AnInterruptedCallIsAskedOnce) {
  int asked = 0;
  const SandboxOptions options{
      .program = remote_program({.absent = Remote::Absent::kWait, .errno_value = EIO},
                                {{"getppid", SYS_getppid}}),
      .meanwhile = [&](worker::WorkerProcess& worker, pid_t child, int) {
        Bridge bridge(worker, 1);
        bridge.say(remote::Described{1, {shape("getppid", {})}});
        const auto call = bridge.next_call();
        ++asked;
        // Until the call that the handler's return makes again is served, so that it is taken on.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        bridge.say(answer(call.id, emulators::Value{55}));
        wait_for_exit(child);
        asked += ::recv(bridge.fd(), nullptr, 0, MSG_DONTWAIT | MSG_PEEK) > 0 ? 1 : 0;
      }};
  EXPECT_EQ(run_in_sandbox(options,
                           [](Checks& checks) {
                             struct sigaction action {};
                             action.sa_handler = [](int) {};
                             action.sa_flags = SA_RESTART;
                             ::sigaction(SIGALRM, &action, nullptr);
                             ::ualarm(50'000, 0);
                             checks.expect(::syscall(SYS_getppid) == 55, "answered");
                           }),
            "");
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace sidecall::testing
