#include "worker/worker.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/pass_fd.h"
#include "kernel/privileges.h"

namespace sidecall::worker {
namespace {

constexpr std::size_t kControlSlot = 0;
constexpr std::size_t kWakeSlot = 1;
constexpr std::size_t kFirstListenerSlot = 2;

constexpr int kNudgeMilliseconds = 10;

PoolLimits pool_limits(const emulators::Limits& limits) {
  PoolLimits pool;
  pool.usual = std::min<std::size_t>(pool.usual, limits.threads);
  pool.most = limits.threads;
  pool.works = limits.calls;
  pool.longest_wait = std::chrono::seconds(limits.wait_seconds);
  return pool;
}

}  // namespace

Worker::Worker(Dispatcher dispatcher, bool sync_wake_up, Statistics statistics, UniqueFd control)
    : dispatcher_(std::move(dispatcher)),
      sync_wake_up_(sync_wake_up),
      statistics_(std::move(statistics)),
      control_(std::move(control)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      report_([this](const std::string& text) { tell(FromWorker::Kind::kMessage, 0, text); }),
      events_(statistics_, [this] { tell(FromWorker::Kind::kEventsWaiting, 0, ""); }),
      sandbox_(emulators::MountLedger(statistics_.mounts())),
      pool_(pool_limits(dispatcher_.limits()), [this] { return make_acting(); }) {
  // One that this sandbox's last worker has found out is not reported again.
  auto& sync = statistics_.header().sync;
  if (!sync_wake_up) {
    sync = SyncState::kOff;
  } else if (sync == SyncState::kOff) {
    sync = SyncState::kUnknown;
  }
  statistics_.header().listeners = 0;
  statistics_.journal().begin();
}

Result<void> Worker::run() {
  if (!wake_) return errno_failure("making an eventfd");
  if (!dispatcher_.program().remotes.empty()) {
    auto remote = RemoteThread::make(
        dispatcher_, statistics_, pool_,
        [this](std::uint64_t generation) { tell(FromWorker::Kind::kBridgeLost, generation, ""); });
    if (!remote) return pass_on(std::move(remote));
    remote_ = std::move(*remote);
  }
  tell(FromWorker::Kind::kReady, 0, "");
  while (control_ || !served_.empty()) {
    if ((finishing_ || retiring_) && served_.empty()) break;
    auto polled = poll_set();
    const bool nudging = nudge_hung_up();
    const int ready = ::poll(polled.data(), polled.size(), nudging ? kNudgeMilliseconds : -1);
    if (ready < 0 && errno != EINTR) return errno_failure("waiting for events");
    if (ready <= 0) continue;
    if (polled[kWakeSlot].revents != 0) collect_ended();
    look_at_listeners(polled);
    if ((polled[kControlSlot].revents & POLLOUT) != 0) tell_untold();
    if ((polled[kControlSlot].revents & ~POLLOUT) != 0) read_control();
  }
  return {};
}

std::vector<pollfd> Worker::poll_set() const {
  std::vector<pollfd> set;
  const short control_events = untold_.empty() ? POLLIN : POLLIN | POLLOUT;
  set.push_back({.fd = control_.get(), .events = control_events, .revents = 0});
  set.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  // Of no events: only POLLHUP is told, and notifications do not wake this thread.
  for (const auto& [tag, served] : served_) {
    if (!served.watch) continue;
    set.push_back({.fd = served.hung_up ? -1 : served.watch.get(), .events = 0, .revents = 0});
  }
  return set;
}

void Worker::look_at_listeners(const std::vector<pollfd>& polled) {
  for (std::size_t slot = kFirstListenerSlot; slot < polled.size(); ++slot) {
    if ((polled[slot].revents & POLLHUP) == 0) continue;
    const auto found = std::find_if(served_.begin(), served_.end(), [&](const auto& entry) {
      return entry.second.watch.get() == polled[slot].fd;
    });
    if (found != served_.end()) found->second.hung_up = true;
  }
}

bool Worker::nudge_hung_up() {
  bool any = false;
  for (auto& [tag, served] : served_) {
    if (!served.hung_up && !retiring_) continue;
    served.receiver->nudge();
    any = true;
  }
  return any;
}

void Worker::collect_ended() {
  std::uint64_t count = 0;
  if (::read(wake_.get(), &count, sizeof count) < 0) return;
  std::vector<std::uint64_t> tags;
  {
    const std::lock_guard lock(ended_mutex_);
    tags.swap(ended_);
  }
  for (const std::uint64_t tag : tags) {
    served_.erase(tag);
    statistics_.header().listeners = static_cast<std::uint32_t>(served_.size());
    // Whoever comes after us goes on with it.
    if (!retiring_) tell_closed(tag);
  }
}

void Worker::read_control() {
  auto received = receive_with_fds(control_.get(), sizeof(ToWorker));
  if (!received || received->bytes.empty()) {
    control_.reset();
    untold_.clear();
    return;
  }
  const auto message = message_from<ToWorker>(received->bytes);
  if (!message) return report_(message.error().message);
  if (message->kind == ToWorker::Kind::kFinish) {
    finishing_ = true;
    return;
  }
  if (message->kind == ToWorker::Kind::kRetire) {
    retiring_ = true;
    for (const auto& [tag, served] : served_) served.receiver->retire();
    return;
  }
  if (retiring_) return;
  if (received->fds.size() != 1) return report_("a listener was announced and none came");
  if (message->kind == ToWorker::Kind::kBridge) {
    return connect_bridge(*message, std::move(received->fds.front()));
  }
  // An agent that has taken us over does not know what the one before it had told us.
  if (served_.count(message->tag) != 0) return;
  const auto added = add_listener(*message, std::move(received->fds.front()));
  if (added) return;
  report_(added.error().message);
  tell_closed(message->tag);
}

Result<void> Worker::add_listener(const ToWorker& message, UniqueFd fd) {
  UniqueFd watch;
  if (!receive_tells_end_) {
    watch = UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!watch) return errno_failure("duplicating a listener");
  }
  auto listener = kernel::open_listener(std::move(fd));
  if (!listener) return pass_on(std::move(listener));
  // Once: what has been half done is not tried again.
  if (!settled_) settled_ = settle(message.first_pid);
  if (!*settled_) return *settled_;
  set_sync(**listener);
  if (remote_ != nullptr) remote_->begin();
  const ServerParts parts{.dispatcher = dispatcher_,
                          .sandbox = sandbox_,
                          .statistics = statistics_,
                          .report = report_,
                          .made_once = &made_once_,
                          .remote = remote_ != nullptr ? &remote_->calls() : nullptr,
                          .events = &events_};
  auto receiver = std::make_unique<Receiver>(
      parts, std::move(*listener), namespaces_, pool_,
      ReceiverOptions{.tag = message.tag,
                      .on_end = [this](std::uint64_t tag) { note_ended(tag); }});
  served_.insert_or_assign(
      message.tag,
      Served{.receiver = std::move(receiver), .watch = std::move(watch), .hung_up = false});
  statistics_.header().listeners = static_cast<std::uint32_t>(served_.size());
  return {};
}

void Worker::connect_bridge(const ToWorker& message, UniqueFd socket) {
  const auto plugin = static_cast<std::uint32_t>(message.pid);
  if (remote_ == nullptr || plugin >= dispatcher_.program().plugins.size()) {
    return report_("a bridge came for a plugin that no rule names");
  }
  remote_->connect(message.tag, plugin, std::move(socket));
}

Result<void> Worker::settle(pid_t first_pid) {
  // Without figures of its cgroup a sandbox is still served; emulators that need them say so.
  if (auto bound = sandbox_.bind(first_pid); !bound) report_(bound.error().message);
  if (dispatcher_.needs_targets()) {
    if (auto looked = look_at_sandbox(first_pid); !looked) return looked;
    auto users = kernel::sandbox_users(first_pid);
    if (!users) return pass_on(std::move(users), "looking at the sandbox's first process");
    users_ = std::move(*users);
    sandbox_.set_own_user_namespace(!users_.own);
    namespaces_.confined = !users_.own;
    if (auto separated = separate(first_pid); !separated) return separated;
    if ((rights().capabilities >> CAP_SYS_ADMIN & 1U) != 0) {
      // Not fatal: names that the policy does not replace are then looked up call by call.
      static_cast<void>(kernel::join_uts_namespace(namespaces_));
    }
  }
  return kernel::drop_privileges(rights().capabilities, kernel::Duty::kServing);
}

Result<void> Worker::look_at_sandbox(pid_t first_pid) {
  const auto proc = open_file("/proc", O_PATH | O_DIRECTORY);
  if (!proc) return tl::unexpected<Error>(proc.error());
  auto namespaces = kernel::sandbox_namespaces(proc->get(), first_pid);
  if (!namespaces) {
    return errno_failure("looking at the sandbox's first process " + std::to_string(first_pid),
                         namespaces.error().value);
  }
  namespaces_ = std::move(*namespaces);
  events_.tell_paths(namespaces_.proc.get());
  return {};
}

Result<void> Worker::separate(pid_t first_pid) {
  if (rights().starts_programs) {
    auto launcher = Launcher::start(dispatcher_, users_, first_pid);
    if (!launcher) return pass_on(std::move(launcher));
    launcher_ = std::move(*launcher);
  }
  if (rights().makes_mounts) {
    if (auto entered = kernel::enter_workshop(); !entered) return entered;
  }
  if (rights().host_capabilities != 0) {
    auto helper = HelperProcess::start(dispatcher_, users_, namespaces_.proc.get());
    if (!helper) return pass_on(std::move(helper));
    helper_ = std::move(*helper);
  }
  if (auto joined = kernel::join_user_namespace(users_); !joined) return joined;
  if (rights().makes_mounts) return kernel::enter_workshop_copy();
  return {};
}

Result<Acting> Worker::make_acting() const {
  Acting acting;
  if (helper_) {
    auto line = helper_->connect();
    if (!line) return pass_on(std::move(line));
    acting.helper = std::move(*line);
  }
  acting.launcher = launcher_.get();
  auto actor = kernel::become_actor(namespaces_.proc.get());
  if (!actor) return pass_on(std::move(actor));
  acting.actor = std::move(*actor);
  return acting;
}

void Worker::note_ended(std::uint64_t tag) {
  if (remote_ != nullptr) remote_->calls().forget(tag);
  {
    const std::lock_guard lock(ended_mutex_);
    ended_.push_back(tag);
  }
  constexpr std::uint64_t kOne = 1;
  static_cast<void>(!::write(wake_.get(), &kOne, sizeof kOne));
}

void Worker::set_sync(kernel::Listener& listener) {
  if (!sync_wake_up_) {
    // A listener handed over by another worker may have it on.
    static_cast<void>(listener.set_sync_wake_up(false));
    return;
  }
  const bool on = kernel::enable_sync_wake_up(listener);
  const auto before =
      statistics_.header().sync.exchange(on ? SyncState::kOn : SyncState::kUnavailable);
  if (!on && before == SyncState::kUnknown) {
    report_(
        "this kernel has no synchronous wake-up (Linux 6.6 has): calls cost more where the "
        "sandbox has several CPUs");
  }
}

bool Worker::tell(FromWorker::Kind kind, std::uint64_t tag, const std::string& text) {
  FromWorker message{.kind = kind, .tag = tag};
  text.copy(message.text.data(), message.text.size() - 1);
  return send_with_fd(control_.get(), bytes_of(message), -1).has_value();
}

// The one kind of message that must not get lost: whoever hears it lets go of the listener.
void Worker::tell_closed(std::uint64_t tag) {
  if (!control_) return;
  untold_.push_back(tag);
  tell_untold();
}

void Worker::tell_untold() {
  while (!untold_.empty() && tell(FromWorker::Kind::kListenerClosed, untold_.front(), "")) {
    untold_.pop_front();
  }
}

}  // namespace sidecall::worker
