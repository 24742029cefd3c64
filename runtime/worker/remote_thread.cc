#include "worker/remote_thread.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <ctime>
#include <utility>

#include "base/pass_fd.h"

namespace sidecall::worker {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

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
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return errno_failure("making an eventfd");
  return std::unique_ptr<RemoteThread>(new RemoteThread(
      dispatcher, statistics, pool, std::move(timer), std::move(wake), std::move(on_bridge_lost)));
}

RemoteThread::RemoteThread(const Dispatcher& dispatcher, const Statistics& statistics,
                           ActorPool& pool, UniqueFd timer, UniqueFd wake,
                           OnBridgeLost on_bridge_lost)
    : timer_(std::move(timer)),
      wake_(std::move(wake)),
      on_bridge_lost_(std::move(on_bridge_lost)),
      calls_(dispatcher, statistics, pool, [this](std::uint64_t ns) { arm(ns); }),
      links_(dispatcher.program().plugins.size()) {}

RemoteThread::~RemoteThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  arm(RemoteCalls::kAtOnce);
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
  arm(RemoteCalls::kAtOnce);
}

// Two descriptors: setting a timer that has expired makes it one that has not.
void RemoteThread::arm(std::uint64_t ns) const {
  if (ns == RemoteCalls::kAtOnce) {
    static_cast<void>(::eventfd_write(wake_.get(), 1));
    return;
  }
  const itimerspec at{.it_interval = {},
                      .it_value = {.tv_sec = static_cast<time_t>(ns / kNanosecondsPerSecond),
                                   .tv_nsec = static_cast<long>(ns % kNanosecondsPerSecond)}};
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
}

void RemoteThread::run() {
  for (;;) {
    auto polled = poll_set();
    if (::poll(polled.data(), polled.size(), -1) <= 0) continue;
    for (std::uint32_t plugin = 0; plugin < links_.size(); ++plugin) {
      if (polled[plugin].revents != 0) look_at(plugin, polled[plugin].revents);
    }
    if (polled[links_.size()].revents != 0) calls_.expire(now_ns());
    if (polled[links_.size() + 1].revents == 0) continue;
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(wake_.get(), &count));
    take_new_links();
    const std::lock_guard lock(mutex_);
    if (ending_) return;
  }
}

std::vector<pollfd> RemoteThread::poll_set() const {
  std::vector<pollfd> set;
  set.reserve(links_.size() + 2);
  for (std::uint32_t plugin = 0; plugin < links_.size(); ++plugin) {
    const short events = calls_.is_blocked(plugin) ? POLLIN | POLLOUT : POLLIN;
    set.push_back({.fd = links_[plugin].socket.get(), .events = events, .revents = 0});
  }
  set.push_back({.fd = timer_.get(), .events = POLLIN, .revents = 0});
  set.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  return set;
}

void RemoteThread::take_new_links() {
  std::vector<NewLink> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(new_links_);
  }
  for (NewLink& each : fresh) {
    // What the bridge before it has answered is answered.
    while (links_[each.plugin].socket && read_one(each.plugin) == Read::kMessage) {
    }
    ::fcntl(each.link.socket.get(), F_SETFL, O_NONBLOCK);
    calls_.connect(each.plugin, each.link.socket.get());
    links_[each.plugin] = std::move(each.link);
  }
}

void RemoteThread::look_at(std::uint32_t plugin, short events) {
  if ((events & POLLOUT) != 0) calls_.send_waiting(plugin);
  if ((events & ~POLLOUT) == 0) return;
  if (read_one(plugin) == Read::kNonsense) lose(plugin);
}

RemoteThread::Read RemoteThread::read_one(std::uint32_t plugin) {
  auto received =
      try_receive_with_fds(links_[plugin].socket.get(), emulators::remote::kMostMessageBytes);
  if (!received && received.error().value == EAGAIN) return Read::kNothing;
  const bool is_message = received && !received->bytes.empty() && !received->fds_cut;
  if (!is_message) return Read::kNonsense;
  return calls_.take_message(plugin, received->bytes, std::move(received->fds)) ? Read::kMessage
                                                                                : Read::kNonsense;
}

void RemoteThread::lose(std::uint32_t plugin) {
  calls_.disconnect(plugin);
  on_bridge_lost_(links_[plugin].generation);
  links_[plugin].socket.reset();
}

}  // namespace sidecall::worker
