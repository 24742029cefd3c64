#include "agent/agent.h"

#include <signal.h>
#include <sys/signalfd.h>

#include <optional>
#include <utility>
#include <vector>

#include "agent/acceptor.h"
#include "agent/control_server.h"
#include "agent/event_loop.h"
#include "agent/event_reporter.h"
#include "agent/hook_intake.h"
#include "agent/keeping.h"
#include "agent/listener_intake.h"
#include "agent/mailbox.h"
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

// crun connects when a container is created, and sends only when it is started.
class ConnectionShelter final : public Shelter {
 public:
  explicit ConnectionShelter(Safekeeping& keeping) : keeping_(keeping) {}
  void take_in(std::uint64_t number, int connection) override {
    keeping_.keep(label(number), connection);
  }
  void let_go(std::uint64_t number) override { keeping_.drop(label(number)); }

 private:
  static keeper::Label label(std::uint64_t number) {
    return {.tag = number, .kind = keeper::Label::Kind::kConnection};
  }
  Safekeeping& keeping_;
};

}  // namespace

// Destroyed from the last to the first: nobody is accepted any more before anything that serves
// them goes, and the directory's lock goes after the sockets in it.
struct Agent::Parts {
  Parts(Log own_log, std::unique_ptr<EventLoop> own_loop, RunDirectory own_directory,
        UniqueFd own_signals, std::string drain_mark)
      : log(std::move(own_log)),
        loop(std::move(own_loop)),
        directory(std::move(own_directory)),
        signals(std::move(own_signals)),
        drain(std::move(drain_mark)) {
    reporter.emplace(*loop, board, hub, log);
  }

  Log log;
  std::unique_ptr<EventLoop> loop;
  RunDirectory directory;
  UniqueFd signals;
  EventLoop::Handle signal_watch;
  SnapshotBoard board;
  DrainSwitch drain;
  EventHub hub;
  std::optional<EventReporter> reporter;
  std::unique_ptr<Mailbox> mailbox;
  std::unique_ptr<Keeping> keeping;
  std::vector<keeper::Kept> old_sockets;  // of an agent before this one, connections included
  std::vector<std::pair<keeper::Label, int>> sockets;  // ours
  std::optional<ConnectionShelter> shelter;
  std::optional<Registry> registry;
  std::unique_ptr<MetricsServer> metrics;
  std::unique_ptr<ControlServer> control_server;
  std::unique_ptr<Acceptor> control_acceptor;
  std::unique_ptr<MessageIntake> hook_intake;
  std::unique_ptr<MessageIntake> listener_intake;

  [[nodiscard]] Result<void> watch_signals();
  [[nodiscard]] Result<void> open_mailbox();
  [[nodiscard]] Result<void> take_over(const AgentOptions& options, Host& host);
  [[nodiscard]] Result<ListeningSocket> open_socket(std::string_view name);
  [[nodiscard]] Result<void> open_metrics(const AgentOptions& options);
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

Result<void> Agent::Parts::open_mailbox() {
  auto opened = Mailbox::open(*loop);
  if (!opened) return pass_on(std::move(opened));
  mailbox = std::move(*opened);
  return {};
}

Result<void> Agent::Parts::take_over(const AgentOptions& options, Host& host) {
  auto started = Keeping::start(*loop, log, options.run_directory, options.keeper_path);
  if (!started) return pass_on(std::move(started));
  keeping = std::move(*started);
  shelter.emplace(*keeping);
  RegistryOptions registry_options = options.registry;
  registry_options.drain = &drain;
  registry_options.reporter = &*reporter;
  registry.emplace(*loop, host, *keeping, log, board, std::move(registry_options));
  keeping->when_empty([this] {
    for (const auto& [label, fd] : sockets) keeping->keep(label, fd);
    if (listener_intake != nullptr) listener_intake->shelter_all();
    registry->keep_all();
  });
  Inheritance inheritance = keeping->take_inheritance();
  old_sockets = std::move(inheritance.sockets);
  registry->take_over(std::move(inheritance));
  return {};
}

// That of the agent before us where it is still there, with the peers that wait in it.
Result<ListeningSocket> Agent::Parts::open_socket(std::string_view name) {
  const keeper::Label label{.tag = sockets.size(), .kind = keeper::Label::Kind::kSocket};
  UniqueFd old;
  for (keeper::Kept& each : old_sockets) {
    if (each.label.names_the_same(label)) old = std::move(each.fd);
  }
  auto socket = directory.bind(name, std::move(old));
  if (!socket) return socket;
  keeping->keep(label, socket->fd());
  socket->leave_name();
  sockets.emplace_back(label, socket->fd());
  return socket;
}

Result<void> Agent::Parts::open_metrics(const AgentOptions& options) {
  if (!options.metrics_address) return {};
  auto server = MetricsServer::start(
      *options.metrics_address, std::make_shared<const Metrics>(board, drain, options.metrics));
  if (!server) return pass_on(std::move(server));
  metrics = std::move(*server);
  return {};
}

Result<void> Agent::Parts::open_control() {
  if (drain.is_on()) log.warn("the node is being drained: new containers are refused");
  auto server = ControlServer::start(
      board, drain, hub,
      [this](bool on) {
        log.warn(on ? "draining: new containers are refused" : "no longer draining");
      },
      [this](std::string id, policy::Policy policy, PolicyAnswer answer) {
        mailbox->post([this, id = std::move(id), policy = std::move(policy),
                       answer = std::move(answer)] { registry->set_policy(id, policy, answer); });
      });
  if (!server) return pass_on(std::move(server));
  control_server = std::move(*server);
  auto socket = open_socket(kControlSocket);
  if (!socket) return pass_on(std::move(socket));
  auto acceptor = Acceptor::start(*loop, log, std::move(*socket), "control", [this](Peer peer) {
    if (control_server->serve(std::move(peer.socket))) return;
    log.warn("connection dropped: there are too many",
             {{"socket", "control"}, {"peer_pid", std::to_string(peer.credentials.pid)}});
  });
  if (!acceptor) return pass_on(std::move(acceptor));
  control_acceptor = std::move(*acceptor);
  return {};
}

Result<void> Agent::Parts::open_hook(const IntakeLimits& limits) {
  auto socket = open_socket(kHookSocket);
  if (!socket) return pass_on(std::move(socket));
  auto intake = start_hook_intake(*loop, log, std::move(*socket), limits, *registry);
  if (!intake) return pass_on(std::move(intake));
  hook_intake = std::move(*intake);
  return {};
}

Result<void> Agent::Parts::open_listener(const IntakeLimits& limits) {
  auto socket = open_socket(kListenerSocket);
  if (!socket) return pass_on(std::move(socket));
  auto intake = start_listener_intake(
      *loop, log, std::move(*socket), limits,
      [this](Delivery delivery) { registry->take(std::move(delivery)); }, &*shelter);
  if (!intake) return pass_on(std::move(intake));
  listener_intake = std::move(*intake);
  std::vector<std::pair<std::uint64_t, UniqueFd>> connections;
  for (keeper::Kept& each : old_sockets) {
    if (each.label.kind != keeper::Label::Kind::kConnection) continue;
    connections.emplace_back(each.label.tag, std::move(each.fd));
  }
  listener_intake->take_over(std::move(connections));
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
  auto parts =
      std::make_unique<Parts>(std::move(log), std::move(*loop), std::move(*directory),
                              std::move(*signals), in_directory(options.run_directory, kDrainMark));
  // The hook's socket is the last: a hook that reaches the agent finds all of it.
  auto opened = parts->watch_signals();
  if (opened) opened = parts->open_mailbox();
  if (opened) opened = parts->take_over(options, host);
  if (opened) opened = parts->open_metrics(options);
  if (opened) opened = parts->open_control();
  if (opened) opened = parts->open_listener(options.intake);
  if (opened) opened = parts->open_hook(options.intake);
  if (!opened) return pass_on(std::move(opened));
  parts->old_sockets.clear();
  return std::unique_ptr<Agent>(new Agent(std::move(parts)));
}

Result<void> Agent::run() {
  return parts_->loop->run();
}

}  // namespace sidecall::agent
