#include "agent/agent.h"

#include <signal.h>
#include <sys/signalfd.h>

#include <utility>

#include "agent/acceptor.h"
#include "agent/control_server.h"
#include "agent/event_loop.h"
#include "agent/hook_intake.h"
#include "agent/listener_intake.h"
#include "agent/run_directory.h"
#include "agent/snapshot.h"
#include "base/paths.h"

namespace sidecall::agent {
namespace {

Result<UniqueFd> stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return errno_failure("waiting for signals");
  return fd;
}

}  // namespace

// Destroyed from the last to the first: nobody is accepted any more before anything that serves
// them goes, and the directory's lock goes after the sockets in it.
struct Agent::Parts {
  Parts(Log own_log, std::unique_ptr<EventLoop> own_loop, RunDirectory own_directory,
        UniqueFd own_signals, Host& host, const RegistryOptions& options)
      : log(std::move(own_log)),
        loop(std::move(own_loop)),
        directory(std::move(own_directory)),
        signals(std::move(own_signals)),
        registry(*loop, host, log, board, options) {}

  Log log;
  std::unique_ptr<EventLoop> loop;
  RunDirectory directory;
  UniqueFd signals;
  EventLoop::Handle signal_watch;
  SnapshotBoard board;
  Registry registry;
  std::unique_ptr<ControlServer> control_server;
  std::unique_ptr<Acceptor> control_acceptor;
  std::unique_ptr<MessageIntake> hook_intake;
  std::unique_ptr<MessageIntake> listener_intake;

  [[nodiscard]] Result<void> watch_signals();
  [[nodiscard]] Result<void> open_control();
  [[nodiscard]] Result<void> open_hook(const IntakeLimits& limits);
  [[nodiscard]] Result<void> open_listener(const IntakeLimits& limits);
};

Result<void> Agent::Parts::watch_signals() {
  auto watched = loop->watch(signals.get(), [this] { loop->stop(); });
  if (!watched) return pass_on(std::move(watched));
  signal_watch = std::move(*watched);
  return {};
}

Result<void> Agent::Parts::open_control() {
  auto server = ControlServer::start(board);
  if (!server) return pass_on(std::move(server));
  control_server = std::move(*server);
  auto socket = directory.bind(kControlSocket);
  if (!socket) return pass_on(std::move(socket));
  auto acceptor = Acceptor::start(*loop, log, std::move(*socket), "control", [this](Peer peer) {
    control_server->serve(std::move(peer.socket));
  });
  if (!acceptor) return pass_on(std::move(acceptor));
  control_acceptor = std::move(*acceptor);
  return {};
}

Result<void> Agent::Parts::open_hook(const IntakeLimits& limits) {
  auto socket = directory.bind(kHookSocket);
  if (!socket) return pass_on(std::move(socket));
  auto intake = start_hook_intake(*loop, log, std::move(*socket), limits, registry);
  if (!intake) return pass_on(std::move(intake));
  hook_intake = std::move(*intake);
  return {};
}

Result<void> Agent::Parts::open_listener(const IntakeLimits& limits) {
  auto socket = directory.bind(kListenerSocket);
  if (!socket) return pass_on(std::move(socket));
  auto intake =
      start_listener_intake(*loop, log, std::move(*socket), limits,
                            [this](Delivery delivery) { registry.take(std::move(delivery)); });
  if (!intake) return pass_on(std::move(intake));
  listener_intake = std::move(*intake);
  return {};
}

Agent::Agent(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Agent::~Agent() = default;

Result<std::unique_ptr<Agent>> Agent::start(const AgentOptions& options, Host& host, Log log) {
  auto directory = RunDirectory::open(options.run_directory);
  if (!directory) return pass_on(std::move(directory));
  auto loop = EventLoop::create();
  if (!loop) return pass_on(std::move(loop));
  auto signals = stop_signals();
  if (!signals) return pass_on(std::move(signals));
  auto parts = std::make_unique<Parts>(std::move(log), std::move(*loop), std::move(*directory),
                                       std::move(*signals), host, options.registry);
  // The hook's socket is the last: a hook that reaches the agent finds all of it.
  auto opened = parts->watch_signals();
  if (opened) opened = parts->open_control();
  if (opened) opened = parts->open_listener(options.intake);
  if (opened) opened = parts->open_hook(options.intake);
  if (!opened) return pass_on(std::move(opened));
  return std::unique_ptr<Agent>(new Agent(std::move(parts)));
}

Result<void> Agent::run() {
  return parts_->loop->run();
}

}  // namespace sidecall::agent
