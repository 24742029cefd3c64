// What a call costs that a plugin behind gRPC answers, beside a bare unary gRPC call over the same
// kind of socket to the same program. Usage, as root: remote [ROUNDS [CALLS]]; `taskset -c 0
// remote` has everything on one CPU.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/paths.h"
#include "bridge/launch.h"
#include "kernel/sandbox.h"
#include "plugin/plugin.h"
#include "sidecall/v1/emulator.grpc.pb.h"

namespace sidecall::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr long kValue = 4242;

#if defined(__x86_64__)
constexpr kernel::Abi kNative = kernel::Abi::kX86_64;
#else
constexpr kernel::Abi kNative = kernel::Abi::kAArch64;
#endif

// What the caller is told to do, and how long that took.
struct Job {
  int calls = 0;
  bool files = false;
};

double us_each(Clock::time_point started, int calls) {
  const std::chrono::duration<double, std::micro> took = Clock::now() - started;
  return took.count() / calls;
}

[[noreturn]] void be_plugin(const std::string& path) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto ended = plugin::run(
      path, {plugin::serves("getppid", {}, true,
                            [](const auto&, const auto&) { return plugin::value(kValue); }),
             plugin::serves("getpgid", {}, true,
                            [](const auto&, const auto&) { return plugin::file("text", true); })});
  std::fprintf(stderr, "%s\n", ended ? "" : ended.error().message.c_str());
  ::_exit(1);
}

UniqueFd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (int tries = 0; tries < 500; ++tries) {
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return socket;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {};
}

// As the agent does it: the first request for a connection is answered, and that is all.
Result<void> connect_bridge(bridge::BridgeProcess& bridge, worker::WorkerProcess& worker,
                            const std::string& path) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_failure("making a socket pair");
  }
  const UniqueFd workers(ends[0]);
  const UniqueFd bridges(ends[1]);
  using Kind = bridge::ToBridge::Kind;
  if (auto told = bridge.tell(Kind::kWorker, 0, bridges.get()); !told) return told;
  if (auto told = worker.connect_bridge(workers.get(), 1, 0); !told) return told;
  return bridge.tell(Kind::kConnection, 0, connect_to(path).get());
}

emulators::Program program_for(const std::string& path) {
  emulators::Program program;
  program.policy = "bench";
  program.plugins = {path};
  program.remotes = {{.deadline_ms = 10'000, .errno_value = EIO}};
  for (const auto& [name, nr] : {std::pair("getppid", SYS_getppid), {"getpgid", SYS_getpgid}}) {
    emulators::Rule rule;
    rule.action = emulators::Rule::Action::kRemote;
    program.routes.push_back(
        {.abi = kNative, .nr = static_cast<std::int32_t>(nr), .name = name, .rules = {rule}});
  }
  return program;
}

void make_calls(testing::Checks& checks, int jobs, int results) {
  Job job;
  while (::read(jobs, &job, sizeof job) == sizeof job && job.calls > 0) {
    bool right = true;
    const auto started = Clock::now();
    for (int left = job.calls; left > 0; --left) {
      right &= job.files ? ::close(static_cast<int>(::syscall(SYS_getpgid, 0))) == 0
                         : ::syscall(SYS_getppid) == kValue;
    }
    const double took = us_each(started, job.calls);
    checks.expect(right, "an answer");
    static_cast<void>(!::write(results, &took, sizeof took));
  }
}

struct Series {
  std::string name;
  std::function<double()> measure;
  std::vector<double> us{};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The rows take turns.
void measure(std::vector<Series> all, int rounds) {
  for (int round = -1; round < rounds; ++round) {
    for (Series& each : all) {
      const double us = each.measure();
      if (round >= 0) each.us.push_back(us);
    }
  }
  const double unary = median(all.front().us);
  for (const Series& each : all) {
    const auto [least, most] = std::minmax_element(each.us.begin(), each.us.end());
    std::printf("%-28s %8.1f us   %8.1f … %8.1f   %5.2f\n", each.name.c_str(), median(each.us),
                *least, *most, median(each.us) / unary);
  }
}

int run(int rounds, int calls) {
  const std::string path = "/tmp/sidecall-bench-" + std::to_string(::getpid()) + ".sock";
  // Before this process has anything of gRPC's.
  const pid_t plugin = ::fork();
  if (plugin == 0) be_plugin(path);
  std::array<int, 2> jobs{};
  std::array<int, 2> results{};
  if (::pipe(jobs.data()) != 0 || ::pipe(results.data()) != 0) return 1;
  const auto ask = [&](bool files) {
    const Job job{calls, files};
    double took = 0;
    static_cast<void>(!::write(jobs[1], &job, sizeof job));
    static_cast<void>(!::read(results[0], &took, sizeof took));
    return took;
  };

  testing::SandboxOptions options{.program = program_for(path)};
  options.meanwhile = [&](worker::WorkerProcess& worker, pid_t, int) {
    const bridge::Settings settings{.sandbox = "bench", .annotations = {}, .plugins = {path}};
    auto bridge = bridge::BridgeProcess::launch(
        {.bridge_path = program_path("sidecall-bridge"), .cpus = {}, .settings = &settings});
    const auto connected = bridge ? connect_bridge(*bridge, worker, path)
                                  : Result<void>(failure(bridge.error().message));
    if (!connected) std::fprintf(stderr, "%s\n", connected.error().message.c_str());
    const auto stub = v1::Emulator::NewStub(
        grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials()));
    const auto unary = [&] {
      const auto started = Clock::now();
      for (int left = calls; left > 0; --left) {
        grpc::ClientContext context;
        v1::Description description;
        if (!stub->Describe(&context, {}, &description).ok()) std::abort();
      }
      return us_each(started, calls);
    };
    // What a bridge does, without a container: one message there and one back, on one stream.
    grpc::ClientContext stream_context;
    const auto stream = stub->Serve(&stream_context);
    const auto streamed = [&] {
      v1::ServeRequest request;
      request.mutable_call()->set_syscall("getppid");
      v1::ServeResponse response;
      const auto started = Clock::now();
      for (int left = calls; left > 0; --left) {
        if (!stream->Write(request) || !stream->Read(&response)) std::abort();
      }
      return us_each(started, calls);
    };
    measure({{"gRPC, unary", unary},
             {"gRPC, on one stream", streamed},
             {"remote, a value", [&] { return ask(false); }},
             {"remote, a file of contents", [&] { return ask(true); }}},
            rounds);
    stream_context.TryCancel();
    static_cast<void>(stream->Finish());
    const Job end;
    static_cast<void>(!::write(jobs[1], &end, sizeof end));
    ::kill(bridge->pid(), SIGKILL);
    ::waitpid(bridge->pid(), nullptr, 0);
  };
  const std::string failures = testing::run_in_sandbox(
      options, [&](testing::Checks& checks) { make_calls(checks, jobs[0], results[1]); });
  ::kill(plugin, SIGKILL);
  ::waitpid(plugin, nullptr, 0);
  ::unlink(path.c_str());
  std::fputs(failures.c_str(), stderr);
  return failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace sidecall::bench

int main(int argc, char** argv) {
  const auto number = [&](int at, int otherwise) {
    return argc > at ? std::max(1, std::atoi(argv[at])) : otherwise;  // NOLINT(cert-err34-c)
  };
  return sidecall::bench::run(number(1, 15), number(2, 500));
}
