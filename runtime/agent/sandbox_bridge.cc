#include "agent/sandbox_bridge.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace sidecall::agent {
namespace {

using bridge::BridgeReport;
using bridge::ToBridge;
using std::chrono::milliseconds;

constexpr milliseconds kFirstDelay{50};
constexpr milliseconds kLongestDelay{1000};

milliseconds next_delay(milliseconds delay) {
  return std::clamp(2 * delay, kFirstDelay, kLongestDelay);
}

// Grows over agents, too.
std::uint64_t new_generation() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

bridge::Settings settings_of(const Record& record) {
  return {.sandbox = record.identity.id,
          .annotations = record.identity.annotations,
          .plugins = record.program.plugins};
}

}  // namespace

SandboxBridge::SandboxBridge(const Context& context, const Record& record, Events events)
    : context_(context),
      record_(record),
      events_(std::move(events)),
      plugins_(record.program.plugins.size()) {}

Result<void> SandboxBridge::start(const placement::Seat& seat) {
  seat_ = seat;
  return launch();
}

void SandboxBridge::take_over(UniqueFd process, UniqueFd control, const placement::Seat& seat) {
  seat_ = seat;
  was_settled_ = true;
  auto adopted = context_.host.adopt_bridge(std::move(process), std::move(control));
  if (adopted && install(std::move(*adopted))) {
    // The last agent had connected the two, or the worker will say so.
    is_worker_ready_ = is_connected_ = true;
    tell(ToBridge::Kind::kAnnounce, 0, -1);
    return;
  }
  is_worker_ready_ = true;
  replace();
}

Result<void> SandboxBridge::launch() {
  for (Plugin& plugin : plugins_) {
    plugin.timer.reset();
    plugin.is_given = plugin.is_told_absent = false;
  }
  auto launched = context_.host.launch_bridge(settings_of(record_), seat_);
  if (!launched) return pass_on(std::move(launched), "starting a bridge");
  if (auto installed = install(std::move(*launched)); !installed) {
    return pass_on(std::move(installed), "starting a bridge");
  }
  keep_all();
  return is_worker_ready_ ? connect_worker() : Result<void>();
}

Result<void> SandboxBridge::install(std::unique_ptr<Bridge> bridge) {
  auto control = context_.loop.watch(bridge->control_fd(), [this] { read_report(); });
  auto exit = context_.loop.watch(bridge->pidfd(), [this] { on_exit(); });
  if (!control || !exit) {
    bridge->kill();
    return pass_on(std::move(control ? exit : control));
  }
  bridge_ = std::move(bridge);
  control_watch_ = std::move(*control);
  exit_watch_ = std::move(*exit);
  return {};
}

void SandboxBridge::worker_is_ready() {
  is_worker_ready_ = true;
  if (bridge_ == nullptr || is_connected_) return;
  if (auto connected = connect_worker(); !connected) {
    context_.log.error("bridge killed: it cannot be connected with its worker",
                       {{"sandbox", record_.identity.id}, {"cause", connected.error().message}});
    bridge_->kill();
  }
}

Result<void> SandboxBridge::connect_worker() {
  generation_ = new_generation();
  for (std::uint32_t plugin = 0; plugin < plugins_.size(); ++plugin) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return errno_failure("making a socket pair for a bridge");
    }
    const UniqueFd workers(ends[0]);
    const UniqueFd bridges(ends[1]);
    if (auto told = bridge_->tell(ToBridge::Kind::kWorker, plugin, bridges.get()); !told) {
      return told;
    }
    if (auto told = events_.connect(workers.get(), generation_, plugin); !told) return told;
  }
  is_connected_ = true;
  return {};
}

void SandboxBridge::worker_lost(std::uint64_t generation) {
  // Of one that has been replaced it is no news.
  if (generation < generation_ || bridge_ == nullptr) return;
  bridge_->kill();
}

void SandboxBridge::read_report() {
  auto report = bridge_->receive_report();
  if (!report || report->kind == BridgeReport::Kind::kEnded || report->plugin >= plugins_.size()) {
    control_watch_.reset();
    bridge_->kill();
    return;
  }
  switch (report->kind) {
    case BridgeReport::Kind::kDisconnected:
      return on_disconnected(report->plugin);
    case BridgeReport::Kind::kServing:
      return on_serving(report->plugin);
    case BridgeReport::Kind::kMessage:
      return context_.log.warn("bridge says",
                               {{"sandbox", record_.identity.id}, {"text", report->text}});
    case BridgeReport::Kind::kEnded:
      return;
  }
}

void SandboxBridge::on_exit() {
  const Ending ending = bridge_->reap();
  control_watch_.reset();
  exit_watch_.reset();
  bridge_.reset();
  is_connected_ = false;
  for (Plugin& plugin : plugins_) plugin.timer.reset();
  if (ended_) return std::exchange(ended_, nullptr)();
  context_.log.error("bridge died", {{"sandbox", record_.identity.id}, {"cause", ending.text}});
  replace_timer_ =
      context_.loop.after(failures_.after_death(Backoff::Clock::now()), [this] { replace(); });
}

void SandboxBridge::replace() {
  if (const auto launched = launch(); launched) {
    return context_.log.warn("bridge replaced", {{"sandbox", record_.identity.id},
                                                 {"bridge_pid", std::to_string(bridge_->pid())}});
  } else {
    context_.log.error("bridge not replaced, trying again",
                       {{"sandbox", record_.identity.id}, {"cause", launched.error().message}});
  }
  if (bridge_ != nullptr) return bridge_->kill();
  replace_timer_ =
      context_.loop.after(failures_.after_death(Backoff::Clock::now()), [this] { replace(); });
}

void SandboxBridge::end(std::function<void()> ended) {
  replace_timer_.reset();
  if (bridge_ == nullptr) return ended();
  ended_ = std::move(ended);
  bridge_->kill();
}

void SandboxBridge::on_disconnected(std::uint32_t number) {
  Plugin& plugin = plugins_[number];
  if (plugin.is_given) note_tried(plugin);
  plugin.is_given = false;
  plugin.timer = context_.loop.after(plugin.delay, [this, number] { connect_plugin(number); });
}

void SandboxBridge::connect_plugin(std::uint32_t number) {
  Plugin& plugin = plugins_[number];
  const auto connection = context_.host.connect_plugin(path_of(number));
  plugin.delay = next_delay(plugin.delay);
  if (connection) {
    plugin.is_given = true;
    return tell(ToBridge::Kind::kConnection, number, connection->get());
  }
  if (!std::exchange(plugin.is_told_absent, true)) {
    context_.log.warn("plugin not there: its calls get what the policy says",
                      {{"sandbox", record_.identity.id}, {"cause", connection.error().message}});
    tell(ToBridge::Kind::kAbsent, number, -1);
  }
  plugin.timer = context_.loop.after(plugin.delay, [this, number] { connect_plugin(number); });
  note_tried(plugin);
}

void SandboxBridge::on_serving(std::uint32_t number) {
  Plugin& plugin = plugins_[number];
  plugin.delay = milliseconds{0};
  plugin.is_told_absent = false;
  context_.log.info("plugin serves",
                    {{"sandbox", record_.identity.id}, {"plugin", path_of(number)}});
  note_tried(plugin);
}

void SandboxBridge::note_tried(Plugin& plugin) {
  plugin.is_tried = true;
  if (is_settled() && !std::exchange(was_settled_, true)) events_.settled();
}

bool SandboxBridge::is_settled() const {
  return was_settled_ || std::all_of(plugins_.begin(), plugins_.end(),
                                     [](const Plugin& plugin) { return plugin.is_tried; });
}

// One that cannot be told is replaced.
void SandboxBridge::tell(ToBridge::Kind kind, std::uint32_t plugin, int fd) {
  const auto told = bridge_->tell(kind, plugin, fd);
  if (told) return;
  context_.log.error("bridge killed: it does not take what it asked for",
                     {{"sandbox", record_.identity.id}, {"cause", told.error().message}});
  bridge_->kill();
}

void SandboxBridge::place(const placement::Seat& seat) {
  seat_ = seat;
  if (bridge_ == nullptr) return;
  if (auto placed = context_.host.place(bridge_->pid(), seat); !placed) {
    context_.log.warn("bridge not moved", {{"sandbox", record_.identity.id},
                                           {"cpus", seat.cpus.list()},
                                           {"cause", placed.error().message}});
  }
}

void SandboxBridge::keep_all() const {
  using Kind = keeper::Label::Kind;
  if (bridge_ == nullptr) return;
  const auto label = [&](Kind kind) {
    return keeper::Label{.sandbox = record_.number, .kind = kind};
  };
  context_.keeping.keep(label(Kind::kBridgeProcess), bridge_->pidfd());
  context_.keeping.keep(label(Kind::kBridgeControl), bridge_->control_fd());
}

}  // namespace sidecall::agent
