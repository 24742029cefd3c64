// sidecalld: the node agent.

#include <grpc/grpc.h>
#include <signal.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "agent/agent.h"
#include "agent/check_config.h"
#include "agent/service_manager.h"
#include "agent/system_host.h"
#include "base/paths.h"

namespace sidecall::agent {
namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

struct Arguments {
  std::string run_directory{kDefaultRunDirectory};
  std::string policy_directory{kDefaultPolicyDirectory};
  std::string worker = program_path("sidecall-worker");
  std::string bridge = program_path("sidecall-bridge");
  std::string keeper = program_path("sidecall-keeper");
  std::string default_policy{kDefaultPolicy};
  std::string charge = "auto";
  std::string metrics;
  bool metrics_by_sandbox = false;
  std::string log_level = "info";
  std::string log_format = "text";
  bool check_config = false;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", "sidecalld " SIDECALL_VERSION);
  app.add_option("--run-dir", arguments.run_directory, "Directory of the sockets, closed to others")
      ->capture_default_str();
  app.add_option("--policy-dir", arguments.policy_directory, "Directory of NAME.json policies")
      ->capture_default_str();
  app.add_option("--default-policy", arguments.default_policy,
                 "Policy of containers that name none")
      ->capture_default_str();
  app.add_option("--worker", arguments.worker,
                 "The sidecall-worker program; by default the one that came with this");
  app.add_option("--bridge", arguments.bridge,
                 "The sidecall-bridge program; by default the one that came with this");
  app.add_option("--keeper", arguments.keeper,
                 "The sidecall-keeper program; by default the one that came with this");
  app.add_option("--charge", arguments.charge,
                 "Whose CPU share a worker's time is taken from; auto: a busy sandbox's own where "
                 "cgroups are v1, else the agent's")
      ->check(CLI::IsMember({"auto", "sandbox", "agent"}))
      ->capture_default_str();
  app.add_option("--metrics", arguments.metrics,
                 "Where Prometheus scrapes /metrics: PORT (of the loopback), HOST:PORT or "
                 "unix:/PATH; nowhere by default");
  app.add_flag("--metrics-by-sandbox", arguments.metrics_by_sandbox,
               "Count by sandbox as well: as many more series as there are sandboxes");
  app.add_option("--log-level", arguments.log_level, "The least that is logged")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.add_option("--log-format", arguments.log_format, "text is key=value")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_flag("--check-config", arguments.check_config, "Check every policy and exit");
}

placement::Charge charge_of(const std::string& name) {
  if (name == "sandbox") return placement::Charge::kSandbox;
  if (name == "agent") return placement::Charge::kAgent;
  return placement::Charge::kAuto;
}

Log make_log(const Arguments& arguments) {
  const LogFormat format = arguments.log_format == "json" ? LogFormat::kJson : LogFormat::kText;
  if (arguments.log_level == "debug") return {format, LogLevel::kDebug};
  if (arguments.log_level == "warn") return {format, LogLevel::kWarn};
  if (arguments.log_level == "error") return {format, LogLevel::kError};
  return {format, LogLevel::kInfo};
}

int fail(const Error& error) {
  std::fprintf(stderr, "sidecalld: %s\n", one_line(error.message).c_str());
  return kFailed;
}

int check(const Arguments& arguments, Host& host) {
  const auto result = check_config(arguments.policy_directory, host);
  if (!result) return fail(result.error());
  for (const std::string& complaint : result->complaints) fail(Error{complaint});
  if (!result->complaints.empty()) return kFailed;
  std::printf("%zu policies in %s are good\n", result->policies,
              arguments.policy_directory.c_str());
  return kOk;
}

// Three descriptors a sandbox and one a listener: the usual soft limit of 1024 is for select(2).
void raise_descriptor_limit(const Log& log) {
  rlimit limit{};
  bool raised = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  limit.rlim_cur = limit.rlim_max;
  raised = raised && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
  if (!raised) log.warn("descriptor limit not raised", {{"cause", errno_name(errno)}});
}

void block_stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a log reader that went away must not end the agent
}

int serve(const Arguments& arguments, Host& host) {
  block_stop_signals();
  // Never undone: gRPC's own clean-up, when its last user goes, may wait ten seconds for its
  // poller, and the next agent waits for this one's end.
  ::grpc_init();
  const Log log = make_log(arguments);
  raise_descriptor_limit(log);
  if (auto program = host.load_program(arguments.default_policy); !program) {
    log.warn("no default policy: containers that name none are refused",
             {{"cause", program.error().message}});
  }
  std::optional<MetricsAddress> metrics_address;
  if (!arguments.metrics.empty()) {
    auto parsed = parse_metrics_address(arguments.metrics);
    if (!parsed) return fail(std::move(parsed).error().within("--metrics"));
    metrics_address = std::move(*parsed);
  }
  const AgentOptions options{
      .run_directory = arguments.run_directory,
      .keeper_path = arguments.keeper,
      .registry = {.default_policy = arguments.default_policy, .times = {}},
      .intake = {},
      .metrics_address = std::move(metrics_address),
      .metrics = {.version = SIDECALL_VERSION, .by_sandbox = arguments.metrics_by_sandbox},
  };
  auto agent = Agent::start(options, host, log);
  if (!agent) return fail(agent.error());
  log.info("serving", {{"version", SIDECALL_VERSION}, {"run_dir", arguments.run_directory}});
  if (auto told = notify_service_manager("READY=1"); !told) {
    log.warn("service manager not told", {{"cause", told.error().message}});
  }
  if (auto run = (*agent)->run(); !run) return fail(run.error());
  log.info("stopping: workers serve on");
  return kOk;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Serves system calls of containers: starts and watches one worker per sandbox.",
               "sidecalld");
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  SystemHost host(arguments.policy_directory, arguments.worker, arguments.bridge,
                  charge_of(arguments.charge));
  return arguments.check_config ? check(arguments, host) : serve(arguments, host);
}

}  // namespace
}  // namespace sidecall::agent

int main(int argc, char** argv) {
  return sidecall::agent::run(argc, argv);
}
