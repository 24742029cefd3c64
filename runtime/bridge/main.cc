// sidecall-bridge: carries the calls of one sandbox between its worker and its gRPC plugins.
// Started by sidecalld, with the descriptors that bridge/protocol.h names; it is of no use by
// itself.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <vector>

#include "base/file.h"
#include "base/pass_fd.h"
#include "bridge/protocol.h"
#include "bridge/session.h"
#include "kernel/privileges.h"

namespace {

using namespace sidecall;  // NOLINT(google-build-using-namespace): a program's main file
using namespace sidecall::bridge;

constexpr std::size_t kMostSettingsBytes = 4U << 20U;

// The workers' sockets that are open.
class Workers {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void remove() {
    const std::lock_guard lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  void wait_until_none() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

void report(int control, FromBridge::Kind kind, std::uint32_t plugin, std::string_view text) {
  FromBridge message{.kind = kind, .plugin = plugin};
  text.copy(message.text.data(), message.text.size() - 1);
  static_cast<void>(send_with_fd(control, bytes_of(message), -1));
}

Session::Events events_of(int control, std::uint32_t plugin, Workers& workers) {
  return {.disconnected = [=] { report(control, FromBridge::Kind::kDisconnected, plugin, ""); },
          .serving = [=] { report(control, FromBridge::Kind::kServing, plugin, ""); },
          .says =
              [=](const std::string& text) {
                report(control, FromBridge::Kind::kMessage, plugin, text);
              },
          .worker_left = [&workers] { workers.remove(); }};
}

// False for what no agent says.
bool obey(const ToBridge& message, std::vector<UniqueFd> fds, const std::vector<Session*>& sessions,
          Workers& workers) {
  const bool brings =
      message.kind == ToBridge::Kind::kConnection || message.kind == ToBridge::Kind::kWorker;
  if (fds.size() != (brings ? 1U : 0U)) return false;
  if (message.kind == ToBridge::Kind::kAnnounce) {
    for (Session* session : sessions) session->announce();
    return true;
  }
  if (message.plugin >= sessions.size()) return false;
  Session& session = *sessions[message.plugin];
  switch (message.kind) {
    case ToBridge::Kind::kConnection:
      session.use_connection(std::move(fds.front()));
      return true;
    case ToBridge::Kind::kWorker:
      workers.add();  // for each of its two threads
      workers.add();
      session.use_worker(std::move(fds.front()));
      return true;
    case ToBridge::Kind::kAbsent:
      session.note_absent();
      return true;
    case ToBridge::Kind::kAnnounce:
      return true;
  }
  return false;
}

// Until agent and keeper have gone, or speak another language.
void follow(int control, const std::vector<Session*>& sessions, Workers& workers) {
  for (;;) {
    auto received = receive_with_fds(control, sizeof(ToBridge));
    if (!received || received->bytes.empty()) return;
    const auto message = message_from<ToBridge>(received->bytes);
    if (!message || !obey(*message, std::move(received->fds), sessions, workers)) {
      std::fputs("sidecall-bridge: a message that no agent of this release sends\n", stderr);
      return;
    }
  }
}

Result<Settings> take_settings() {
  for (const int fd : {kControlFd, kSettingsFd}) {
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return failure("this program is started by sidecalld, not by hand");
    }
  }
  const UniqueFd file(kSettingsFd);
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return errno_failure("the settings");
  auto bytes = read_fd(file.get(), kMostSettingsBytes);
  if (!bytes) return pass_on(std::move(bytes), "the settings");
  return decode_settings(*bytes);
}

}  // namespace

int main() {
  ::signal(SIGPIPE, SIG_IGN);
  auto settings = take_settings();
  auto prepared =
      settings ? kernel::become_nobody() : Result<void>(failure(settings.error().message));
  if (!prepared) {
    std::fprintf(stderr, "sidecall-bridge: %s\n", prepared.error().message.c_str());
    return 1;
  }
  Workers workers;
  std::vector<Session*> sessions;
  for (std::uint32_t plugin = 0; plugin < settings->plugins.size(); ++plugin) {
    sessions.push_back(
        new Session(*settings, settings->plugins[plugin], events_of(kControlFd, plugin, workers)));
  }
  follow(kControlFd, sessions, workers);
  // Without an agent the calls of the worker are carried on.
  workers.wait_until_none();
  // Threads that wait for plugins hold what a usual end would destroy.
  ::_exit(0);
}
