#include "agent/sandbox.h"

#include <poll.h>

#include <algorithm>
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

Sandbox::Sandbox(const Context& context, Identity identity, emulators::Program program,
                 Events events)
    : context_(context),
      identity_(std::move(identity)),
      program_(std::move(program)),
      events_(std::move(events)) {}

Result<void> Sandbox::start() {
  if (auto launched = launch_worker(); !launched) return launched;
  watch_expected();
  return {};
}

Result<void> Sandbox::launch_worker() {
  if (auto seat = context_.host.sandbox_seat(identity_.pid)) {
    seat_ = *seat;
  } else {
    context_.log.warn("CPUs of the sandbox not found",
                      {{"sandbox", identity_.id}, {"cause", seat.error().message}});
  }
  auto worker = context_.host.launch(identity_.id, program_, seat_, memory_.get());
  if (!worker) return pass_on(std::move(worker), "starting a worker");
  auto control = context_.loop.watch((*worker)->control_fd(), [this] { read_report(); });
  auto exit = context_.loop.watch((*worker)->pidfd(), [this] { on_exit(); });
  if (!control || !exit) {
    (*worker)->kill();
    return pass_on(std::move(control ? exit : control), "starting a worker");
  }
  worker_ = std::move(*worker);
  memory_ = worker_->statistics();
  worker_ready_ = false;
  if (!seat_.cpu_cgroup.empty()) place(seat_);
  control_watch_ = std::move(*control);
  exit_watch_ = std::move(*exit);
  kill_after(context_.times.ready, "it did not become ready");
  return {};
}

void Sandbox::when_ready(Ready ready) {
  if (worker_ready_) return ready({});
  waiting_.push_back(std::move(ready));
}

void Sandbox::answer_waiting(const Result<void>& outcome) {
  for (const Ready& ready : std::exchange(waiting_, {})) ready(outcome);
}

void Sandbox::add_listener(UniqueFd listener, pid_t pid) {
  if (pid == 0) pid = identity_.pid;  // a runtime that does not say: crun at exec
  state_ = SandboxState::kServing;
  expected_timer_.reset();
  const auto [added, _] = listeners_.emplace(next_tag_++, Served{std::move(listener), pid});
  if (worker_ready_) hand_over(added->first, added->second);
  events_.changed();
}

// A worker that cannot be told is replaced: its successor gets every listener.
void Sandbox::hand_over(std::uint64_t tag, const Served& served) {
  const auto told = worker_->add_listener(served.listener.get(), tag, served.pid, identity_.pid);
  if (told) return;
  context_.log.error("worker killed: it does not take a listener",
                     {{"sandbox", identity_.id}, {"cause", told.error().message}});
  worker_->kill();
}

void Sandbox::read_report() {
  const auto report = worker_->receive_report();
  if (report) return on_report(*report);
  context_.log.error("unreadable report of a worker",
                     {{"sandbox", identity_.id}, {"cause", report.error().message}});
  control_watch_.reset();
  worker_->kill();
}

void Sandbox::on_report(const worker::WorkerReport& report) {
  switch (report.kind) {
    case worker::WorkerReport::Kind::kReady:
      return on_ready();
    case worker::WorkerReport::Kind::kListenerClosed:
      if (listeners_.erase(report.tag) == 0) return;
      if (listeners_.empty()) return end();
      return events_.changed();
    case worker::WorkerReport::Kind::kMessage:
      return context_.log.info("worker says", {{"sandbox", identity_.id}, {"text", report.text}});
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
  for (const auto& [tag, served] : listeners_) hand_over(tag, served);
  answer_waiting({});
  events_.changed();
}

void Sandbox::on_exit() {
  // What it said last, the cause of its end perhaps, still waits to be read.
  while (has_event(worker_->control_fd(), POLLIN)) {
    const auto report = worker_->receive_report();
    if (!report || report->kind == worker::WorkerReport::Kind::kEnded) break;
    if (report->kind == worker::WorkerReport::Kind::kListenerClosed) listeners_.erase(report->tag);
    if (report->kind == worker::WorkerReport::Kind::kMessage) on_report(*report);
  }
  const std::string how = worker_->reap();
  control_watch_.reset();
  exit_watch_.reset();
  kill_timer_.reset();
  worker_.reset();
  worker_ready_ = false;
  drop_deserted_listeners();
  const bool unused = state_ == SandboxState::kServing && listeners_.empty();
  if (state_ == SandboxState::kEnding || unused) return conclude();
  context_.log.error("worker died", {{"sandbox", identity_.id}, {"cause", how}});
  if (!waiting_.empty()) {
    answer_waiting(failure("the worker of " + identity_.id + " died before it was ready (" + how +
                           "); sidecalld's log says more"));
  }
  if (!ever_ready_ && state_ == SandboxState::kExpected) return conclude();
  schedule_replacement();
  events_.changed();
}

void Sandbox::schedule_replacement() {
  const auto delay = backoff_.after_death(Backoff::Clock::now());
  replace_timer_ = context_.loop.after(delay, [this] { replace_worker(); });
}

void Sandbox::replace_worker() {
  drop_deserted_listeners();
  if (state_ == SandboxState::kServing && listeners_.empty()) return conclude();
  if (const auto launched = launch_worker(); !launched) {
    context_.log.error("worker not replaced, trying again",
                       {{"sandbox", identity_.id}, {"cause", launched.error().message}});
    return schedule_replacement();
  }
  ++restarts_;
  context_.log.warn("worker replaced", {{"sandbox", identity_.id},
                                        {"worker_pid", std::to_string(worker_->pid())},
                                        {"listeners", std::to_string(listeners_.size())}});
  events_.changed();
}

void Sandbox::drop_deserted_listeners() {
  std::erase_if(listeners_,
                [](const auto& item) { return is_hung_up(item.second.listener.get()); });
}

bool Sandbox::is_deserted() const {
  return !listeners_.empty() &&
         std::all_of(listeners_.begin(), listeners_.end(),
                     [](const auto& item) { return is_hung_up(item.second.listener.get()); });
}

void Sandbox::end() {
  if (state_ == SandboxState::kEnding) return;
  state_ = SandboxState::kEnding;
  expected_timer_.reset();
  replace_timer_.reset();
  listeners_.clear();
  answer_waiting(failure("container " + identity_.id + " ended before its worker was ready"));
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
    context_.log.error("worker killed", {{"sandbox", identity_.id}, {"cause", cause}});
    worker_->kill();
  });
}

// The hook that announces a container is no promise that it starts: an engine may fail after it,
// and not every engine then runs the poststop hooks.
void Sandbox::watch_expected() {
  expected_timer_ = context_.loop.after(context_.times.expected, [this] {
    if (context_.host.is_alive(identity_.pid)) return watch_expected();
    context_.log.warn("expected container never came", {{"sandbox", identity_.id}});
    end();
  });
}

void Sandbox::conclude() {
  state_ = SandboxState::kEnding;
  listeners_.clear();
  expected_timer_.reset();
  replace_timer_.reset();
  events_.gone(*this);
}

void Sandbox::follow() {
  if (worker_ == nullptr || state_ == SandboxState::kEnding) return;
  const auto seat = context_.host.sandbox_seat(identity_.pid);
  if (!seat || *seat == seat_ || refused_seat_ == *seat) return;
  if (!place(*seat)) return;
  context_.log.info("worker moved with its sandbox", {{"sandbox", identity_.id},
                                                      {"from", seat_.cpus.list()},
                                                      {"to", seat->cpus.list()},
                                                      {"cgroup", seat->cpu_cgroup}});
  seat_ = *seat;
  events_.changed();
}

bool Sandbox::place(const placement::Seat& seat) {
  const auto placed = context_.host.place(worker_->pid(), seat);
  if (placed) {
    refused_seat_.reset();
  } else {
    refused_seat_ = seat;
    context_.log.warn(
        "worker not moved",
        {{"sandbox", identity_.id}, {"cpus", seat.cpus.list()}, {"cause", placed.error().message}});
  }
  return placed.has_value();
}

SandboxView Sandbox::view() const {
  return {.id = identity_.id,
          .state = state_,
          .bundle = identity_.bundle,
          .policy = program_.policy,
          .pid = identity_.pid,
          .worker_pid = worker_ != nullptr ? worker_->pid() : 0,
          .cpus = seat_.cpus.list(),
          .listeners = static_cast<std::uint32_t>(listeners_.size()),
          .since = since_,
          .worker_restarts = restarts_,
          .annotations = identity_.annotations,
          .statistics = memory_};
}

}  // namespace sidecall::agent
