#include "worker/remote_thread.h"

#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <ctime>
#include <utility>

#include "base/pass_fd.h"

namespace sidecall::worker {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

// At a CLOCK_MONOTONIC, which may be past; 0: never.
void arm(int timer, std::uint64_t ns) {
  const itimerspec at{.it_interval = {},
                      .it_value = {.tv_sec = static_cast<time_t>(ns / kNanosecondsPerSecond),
                                   .tv_nsec = static_cast<long>(ns % kNanosecondsPerSecond)}};
  ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, nullptr);
}

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNanosecondsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

Result<std::unique_ptr<RemoteThread>> RemoteThread::make(const Dispatcher& dispatcher,
                                                         const Statistics& statistics,
                                                         ActorPool& pool,
                                                         OnBridgeLost on_bridge_lost) {
  UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) return errno_failure("making a timer");
  return std::unique_ptr<RemoteThread>(
      new RemoteThread(dispatcher, statistics, pool, std::move(timer), std::move(on_bridge_lost)));
}

RemoteThread::RemoteThread(const Dispatcher& dispatcher, const Statistics& statistics,
                           ActorPool& pool, UniqueFd timer, OnBridgeLost on_bridge_lost)
    : timer_(std::move(timer)),
      on_bridge_lost_(std::move(on_bridge_lost)),
      calls_(dispatcher, statistics, pool, [this](std::uint64_t ns) { arm(timer_.get(), ns); }),
      links_(dispatcher.program().plugins.size()) {}

RemoteThread::~RemoteThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  arm(timer_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void RemoteThread::begin() {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void RemoteThread::connect(std::uint64_t generation, std::uint32_t plugin, UniqueFd socket) {
  {
    const std::lock_guard lock(mutex_);
    new_links_.push_back({plugin, {std::move(socket), generation}});
  }
  arm(timer_.get(), 1);
}

void RemoteThread::run() {
  for (;;) {
    auto polled = poll_set();
    if (::poll(polled.data(), polled.size(), -1) <= 0) continue;
    for (std::uint32_t plugin = 0; plugin < links_.size(); ++plugin) {
      if (polled[plugin].revents != 0) look_at(plugin, polled[plugin].revents);
    }
    if (polled.back().revents == 0) continue;
    read_timer();
    // After the timer is armed anew: what comes later arms it again.
    take_new_links();
    const std::lock_guard lock(mutex_);
    if (ending_) return;
  }
}

std::vector<pollfd> RemoteThread::poll_set() const {
  std::vector<pollfd> set;
  set.reserve(links_.size() + 1);
  for (std::uint32_t plugin = 0; plugin < links_.size(); ++plugin) {
    const short events = calls_.is_blocked(plugin) ? POLLIN | POLLOUT : POLLIN;
    set.push_back({.fd = links_[plugin].socket.get(), .events = events, .revents = 0});
  }
  set.push_back({.fd = timer_.get(), .events = POLLIN, .revents = 0});
  return set;
}

void RemoteThread::read_timer() {
  std::uint64_t count = 0;
  static_cast<void>(!::read(timer_.get(), &count, sizeof count));
  calls_.expire(now_ns());
}

void RemoteThread::take_new_links() {
  std::vector<NewLink> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(new_links_);
  }
  for (NewLink& each : fresh) {
    calls_.connect(each.plugin, each.link.socket.get());
    links_[each.plugin] = std::move(each.link);
  }
}

void RemoteThread::look_at(std::uint32_t plugin, short events) {
  if ((events & POLLOUT) != 0) calls_.send_waiting(plugin);
  if ((events & ~POLLOUT) == 0) return;
  auto received =
      try_receive_with_fds(links_[plugin].socket.get(), emulators::remote::kMostMessageBytes);
  const bool is_message = received && !received->bytes.empty() && !received->fds_cut;
  if (is_message && calls_.take_message(plugin, received->bytes, std::move(received->fds))) return;
  lose(plugin);
}

void RemoteThread::lose(std::uint32_t plugin) {
  calls_.disconnect(plugin);
  on_bridge_lost_(links_[plugin].generation);
  links_[plugin].socket.reset();
}

}  // namespace sidecall::worker
