#include "agent/sandbox.h"

#include <poll.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace sidecall::agent {
namespace {

bool has_event(int fd, short event) {
  pollfd look{fd, POLLIN, 0};
  return ::poll(&look, 1, 0) == 1 && (look.revents & event) != 0;
}

// seccomp_unotify(2): POLLHUP once no task uses the filter any more.
bool is_hung_up(int listener) {
  return has_event(listener, POLLHUP);
}

}  // namespace

Sandbox::Sandbox(const Context& context, Record record, Events events)
    : context_(context), record_(std::move(record)), events_(std::move(events)) {}

Result<void> Sandbox::start() {
  if (auto begun = context_.keeping.begin(record_); !begun) return begun;
  if (auto launched = launch_worker(); !launched) {
    context_.keeping.end(record_.number);
    return launched;
  }
  make_bridge();
  if (bridge_ != nullptr) {
    if (auto started = bridge_->start(seat_); !started) {
      worker_->kill();
      context_.keeping.end(record_.number);
      return started;
    }
  }
  watch_expected();
  return {};
}

Result<void> Sandbox::take_over(Estate estate) {
  auto worker = context_.host.adopt(std::move(estate.process), std::move(estate.control),
                                    std::move(estate.memory));
  if (!worker) return pass_on(std::move(worker));
  if (auto installed = install(std::move(*worker)); !installed) return installed;
  for (Estate::Listener& each : estate.listeners) {
    next_tag_ = each.tag + 1;
    listeners_.emplace(each.tag, Served{std::move(each.fd), each.pid});
  }
  if (memory_ != nullptr) restarts_ = memory_->header().restarts;
  if (auto seat = context_.host.sandbox_seat(record_.identity.pid, false)) {
    seat_ = *seat;
    place(seat_);
  }
  worker_ready_ = ever_ready_ = true;
  make_bridge();
  if (bridge_ != nullptr) {
    bridge_->take_over(std::move(estate.bridge_process), std::move(estate.bridge_control), seat_);
  }
  if (listeners_.empty()) {
    watch_expected();
    return {};
  }
  state_ = SandboxState::kServing;
  drop_deserted_listeners();
  if (listeners_.empty()) {
    end();
    return {};
  }
  // The last agent may have died before it had told its worker; what a worker has been told already
  // it does not mind.
  for (const auto& [tag, served] : listeners_) hand_over(tag, served);
  return {};
}

void Sandbox::make_bridge() {
  if (record_.program.plugins.empty()) return;
  bridge_ = std::make_unique<SandboxBridge>(
      SandboxBridge::Context{context_.loop, context_.host, context_.keeping, context_.log}, record_,
      SandboxBridge::Events{
          .connect =
              [this](int socket, std::uint64_t generation, std::uint32_t plugin) {
                return worker_->connect_bridge(socket, generation, plugin);
              },
          .settled =
              [this] {
                if (is_ready()) answer_waiting({});
              },
      });
}

bool Sandbox::is_ready() const {
  return worker_ready_ && (bridge_ == nullptr || bridge_->is_settled());
}

Result<void> Sandbox::launch_worker() {
  if (auto seat = context_.host.sandbox_seat(record_.identity.pid, busy_.is_busy())) {
    seat_ = *seat;
  } else {
    context_.log.warn("CPUs of the sandbox not found",
                      {{"sandbox", record_.identity.id}, {"cause", seat.error().message}});
  }
  auto worker = context_.host.launch(record_.identity.id, record_.program, seat_, memory_.get());
  if (!worker) return pass_on(std::move(worker), "starting a worker");
  if (auto installed = install(std::move(*worker)); !installed) {
    return pass_on(std::move(installed), "starting a worker");
  }
  keep_worker();
  worker_ready_ = false;
  given_up_ = false;
  if (!seat_.cpu_cgroup.empty()) place(seat_);
  kill_after(context_.times.ready, "it did not become ready");
  return {};
}

Result<void> Sandbox::install(std::unique_ptr<Worker> worker) {
  auto control = context_.loop.watch(worker->control_fd(), [this] { read_report(); });
  auto exit = context_.loop.watch(worker->pidfd(), [this] { on_exit(); });
  if (!control || !exit) {
    worker->kill();
    return pass_on(std::move(control ? exit : control));
  }
  worker_ = std::move(worker);
  memory_ = worker_->statistics();
  control_watch_ = std::move(*control);
  exit_watch_ = std::move(*exit);
  return {};
}

keeper::Label Sandbox::label(keeper::Label::Kind kind) const {
  return {.sandbox = record_.number, .kind = kind};
}

void Sandbox::keep_worker() const {
  using Kind = keeper::Label::Kind;
  if (memory_ != nullptr) context_.keeping.keep(label(Kind::kMemory), memory_->fd());
  context_.keeping.keep(label(Kind::kControl), worker_->control_fd());
  context_.keeping.keep(label(Kind::kProcess), worker_->pidfd());
}

void Sandbox::keep_listener(std::uint64_t tag, const Served& served) const {
  auto its = label(keeper::Label::Kind::kListener);
  its.tag = tag;
  its.pid = served.pid;
  context_.keeping.keep(its, served.listener.get());
}

void Sandbox::keep_all() const {
  if (state_ == SandboxState::kEnding) return;
  if (bridge_ != nullptr) bridge_->keep_all();
  if (worker_ != nullptr) keep_worker();
  for (const auto& [tag, served] : listeners_) keep_listener(tag, served);
}

bool Sandbox::let_go(std::uint64_t tag) {
  auto its = label(keeper::Label::Kind::kListener);
  its.tag = tag;
  context_.keeping.drop(its);
  return listeners_.erase(tag) != 0;
}

void Sandbox::when_ready(Ready ready) {
  if (is_ready()) return ready({});
  waiting_.push_back(std::move(ready));
}

void Sandbox::answer_waiting(const Result<void>& outcome) {
  for (const Ready& ready : std::exchange(waiting_, {})) ready(outcome);
}

void Sandbox::add_listener(UniqueFd listener, pid_t pid) {
  if (pid == 0) pid = record_.identity.pid;  // a runtime that does not say: crun at exec
  state_ = SandboxState::kServing;
  expected_timer_.reset();
  const auto [added, _] = listeners_.emplace(next_tag_++, Served{std::move(listener), pid});
  keep_listener(added->first, added->second);
  if (worker_ready_) hand_over(added->first, added->second);
  events_.changed();
}

// A worker that cannot be told is replaced: its successor gets every listener.
void Sandbox::hand_over(std::uint64_t tag, const Served& served) {
  const auto told =
      worker_->add_listener(served.listener.get(), tag, served.pid, record_.identity.pid);
  if (told) return;
  context_.log.error("worker killed: it does not take a listener",
                     {{"sandbox", record_.identity.id}, {"cause", told.error().message}});
  worker_->kill();
}

void Sandbox::read_report() {
  const auto report = worker_->receive_report();
  if (report) return on_report(*report);
  context_.log.error("unreadable report of a worker",
                     {{"sandbox", record_.identity.id}, {"cause", report.error().message}});
  control_watch_.reset();
  worker_->kill();
}

void Sandbox::on_report(const worker::WorkerReport& report) {
  switch (report.kind) {
    case worker::WorkerReport::Kind::kReady:
      return on_ready();
    case worker::WorkerReport::Kind::kListenerClosed:
      if (!let_go(report.tag)) return;
      if (listeners_.empty()) return end();
      return events_.changed();
    case worker::WorkerReport::Kind::kMessage:
      return context_.log.info("worker says",
                               {{"sandbox", record_.identity.id}, {"text", report.text}});
    case worker::WorkerReport::Kind::kEventsWaiting:
      return events_.calls_waiting();
    case worker::WorkerReport::Kind::kBridgeLost:
      if (bridge_ != nullptr) bridge_->worker_lost(report.tag);
      return;
    case worker::WorkerReport::Kind::kEnded:
      control_watch_.reset();
      kill_after(context_.times.end_grace, "it closed its control socket and did not exit");
      return;
  }
}

void Sandbox::on_ready() {
  if (state_ == SandboxState::kEnding) return;
  kill_timer_.reset();
  worker_ready_ = true;
  ever_ready_ = true;
  if (bridge_ != nullptr) bridge_->worker_is_ready();
  for (const auto& [tag, served] : listeners_) hand_over(tag, served);
  if (is_ready()) answer_waiting({});
  events_.changed();
  if (!program_set_) return;
  // Written down only now: until here the old one decided.
  auto kept = context_.keeping.begin(record_);
  context_.log.info("policy replaced",
                    {{"sandbox", record_.identity.id}, {"policy", record_.program.policy}});
  std::exchange(program_set_, {})(kept);
  events_.policy_changed();
}

void Sandbox::on_exit() {
  // What it said last, the cause of its end perhaps, still waits to be read.
  while (has_event(worker_->control_fd(), POLLIN)) {
    const auto report = worker_->receive_report();
    if (!report || report->kind == worker::WorkerReport::Kind::kEnded) break;
    if (report->kind == worker::WorkerReport::Kind::kListenerClosed) let_go(report->tag);
    if (report->kind == worker::WorkerReport::Kind::kMessage) on_report(*report);
  }
  const Ending ending = worker_->reap();
  control_watch_.reset();
  exit_watch_.reset();
  kill_timer_.reset();
  worker_.reset();
  worker_ready_ = false;
  if (bridge_ != nullptr) bridge_->worker_is_gone();
  drop_deserted_listeners();
  const bool unused = state_ == SandboxState::kServing && listeners_.empty();
  if (state_ == SandboxState::kEnding || unused) return conclude();
  const bool retired = next_program_.has_value();
  if (retired) record_.program = *std::exchange(next_program_, std::nullopt);
  if (retired && !given_up_ && ending.orderly) return succeed_retired();
  context_.log.error("worker died", {{"sandbox", record_.identity.id}, {"cause", ending.text}});
  if (memory_ != nullptr) {
    memory_->journal().blame(ending.by_itself);
    memory_->events().repair();
  }
  // One that somebody else has killed says nothing of the next.
  const bool hopeless = ending.by_itself || given_up_;
  if (!waiting_.empty() && hopeless) {
    answer_waiting(failure("the worker of " + record_.identity.id + " died before it was ready (" +
                           ending.text + "); sidecalld's log says more"));
  }
  if (!ever_ready_ && hopeless && state_ == SandboxState::kExpected) return conclude();
  schedule_replacement(ending.by_itself ? failures_ : kills_);
  events_.changed();
}

void Sandbox::schedule_replacement(Backoff& backoff) {
  const auto delay = backoff.after_death(Backoff::Clock::now());
  replace_timer_ = context_.loop.after(delay, [this] { replace_worker(); });
}

void Sandbox::replace_worker() {
  drop_deserted_listeners();
  if (state_ == SandboxState::kServing && listeners_.empty()) return conclude();
  if (const auto launched = launch_worker(); !launched) {
    context_.log.error("worker not replaced, trying again",
                       {{"sandbox", record_.identity.id}, {"cause", launched.error().message}});
    return schedule_replacement(failures_);
  }
  ++restarts_;
  if (memory_ != nullptr) memory_->header().restarts = restarts_;
  context_.log.warn("worker replaced", {{"sandbox", record_.identity.id},
                                        {"worker_pid", std::to_string(worker_->pid())},
                                        {"listeners", std::to_string(listeners_.size())}});
  events_.changed();
  events_.worker_restarted();
}

void Sandbox::set_program(emulators::Program program, Ready ready) {
  if (state_ != SandboxState::kServing || worker_ == nullptr || !worker_ready_ || program_set_) {
    return ready(failure("its worker is being started or ended just now; try again"));
  }
  if (program.plugins != record_.program.plugins) {
    return ready(
        failure("it names other plugins than the sandbox's bridge was started for; start the "
                "container again"));
  }
  if (const auto asked = worker_->retire(); !asked) return ready(asked);
  next_program_ = std::move(program);
  program_set_ = std::move(ready);
  worker_ready_ = false;  // nothing more is handed to it
  kill_after(context_.times.end_grace, "it did not finish its calls in time to change its policy");
}

// The memory goes over with all that is still in the journal, as after a death; nobody is to blame.
void Sandbox::succeed_retired() {
  if (const auto launched = launch_worker(); !launched) {
    context_.log.error("worker not replaced, trying again",
                       {{"sandbox", record_.identity.id}, {"cause", launched.error().message}});
    schedule_replacement(failures_);
  }
  events_.changed();
}

void Sandbox::drop_deserted_listeners() {
  std::vector<std::uint64_t> deserted;
  for (const auto& [tag, served] : listeners_) {
    if (is_hung_up(served.listener.get())) deserted.push_back(tag);
  }
  for (const std::uint64_t tag : deserted) let_go(tag);
}

bool Sandbox::is_deserted() const {
  return !listeners_.empty() &&
         std::all_of(listeners_.begin(), listeners_.end(),
                     [](const auto& item) { return is_hung_up(item.second.listener.get()); });
}

void Sandbox::end() {
  if (state_ == SandboxState::kEnding) return;
  state_ = SandboxState::kEnding;
  context_.keeping.end(record_.number);
  expected_timer_.reset();
  replace_timer_.reset();
  listeners_.clear();
  answer_waiting(
      failure("container " + record_.identity.id + " ended before its worker was ready"));
  if (worker_ == nullptr) return conclude();
  if (worker_->finish()) {
    kill_after(context_.times.end_grace, "it did not end when asked");
  } else {
    worker_->kill();
  }
  events_.changed();
}

void Sandbox::kill_after(std::chrono::milliseconds delay, std::string cause) {
  kill_timer_ = context_.loop.after(delay, [this, cause = std::move(cause)] {
    context_.log.error("worker killed", {{"sandbox", record_.identity.id}, {"cause", cause}});
    given_up_ = true;
    worker_->kill();
  });
}

// The hook that announces a container is no promise that it starts: an engine may fail after it,
// and not every engine then runs the poststop hooks.
void Sandbox::watch_expected() {
  expected_timer_ = context_.loop.after(context_.times.expected, [this] {
    if (context_.host.is_alive(record_.identity.pid)) return watch_expected();
    context_.log.warn("expected container never came", {{"sandbox", record_.identity.id}});
    end();
  });
}

void Sandbox::conclude() {
  state_ = SandboxState::kEnding;
  if (program_set_) std::exchange(program_set_, {})(failure("the sandbox has ended"));
  context_.keeping.end(record_.number);
  listeners_.clear();
  expected_timer_.reset();
  replace_timer_.reset();
  if (bridge_ == nullptr) return events_.gone(*this);
  bridge_->end([this] { events_.gone(*this); });
}

void Sandbox::follow() {
  if (worker_ == nullptr || state_ == SandboxState::kEnding) return;
  const bool busy = busy_.note(calls_so_far());
  const auto seat = context_.host.sandbox_seat(record_.identity.pid, busy);
  if (!seat || *seat == seat_ || refused_seat_ == *seat) return;
  if (!place(*seat)) return;
  const bool same_cpus = seat_.cpus == seat->cpus;
  if (same_cpus) {
    context_.log.debug("worker moved to another cgroup",
                       {{"sandbox", record_.identity.id}, {"cgroup", seat->cpu_cgroup}});
  } else {
    context_.log.info(
        "worker moved with its sandbox",
        {{"sandbox", record_.identity.id}, {"from", seat_.cpus.list()}, {"to", seat->cpus.list()}});
  }
  seat_ = *seat;
  events_.changed();
  if (!same_cpus) events_.cpus_changed();
}

std::uint64_t Sandbox::calls_so_far() const {
  if (memory_ == nullptr) return 0;
  const auto routes = memory_->routes();
  return std::accumulate(routes.begin(), routes.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& route) { return sum + route.calls; });
}

bool Sandbox::place(const placement::Seat& seat) {
  const auto placed = context_.host.place(worker_->pid(), seat);
  if (bridge_ != nullptr) bridge_->place(seat);
  if (placed) {
    refused_seat_.reset();
  } else {
    refused_seat_ = seat;
    context_.log.warn("worker not moved", {{"sandbox", record_.identity.id},
                                           {"cpus", seat.cpus.list()},
                                           {"cause", placed.error().message}});
  }
  return placed.has_value();
}

SandboxView Sandbox::view() const {
  return {.id = record_.identity.id,
          .state = state_,
          .bundle = record_.identity.bundle,
          .policy = record_.program.policy,
          .pid = record_.identity.pid,
          .worker_pid = worker_ != nullptr ? worker_->pid() : 0,
          .cpus = seat_.cpus.list(),
          .listeners = static_cast<std::uint32_t>(listeners_.size()),
          .since = record_.since,
          .worker_restarts = restarts_,
          .annotations = record_.identity.annotations,
          .statistics = memory_};
}

}  // namespace sidecall::agent
