// Calls that plugins serve: those in flight, the plugins as the bridge tells of them, and what
// becomes of the ones when the others come and go.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "emulators/remote_call.h"
#include "kernel/thread_cache.h"
#include "worker/actor_pool.h"
#include "worker/dispatcher.h"
#include "worker/journal.h"
#include "worker/remote_arguments.h"
#include "worker/remote_end.h"
#include "worker/remote_rule.h"
#include "worker/statistics.h"

namespace sidecall::worker {

// A receiver's thread begins a call and is free again; the thread of worker/remote_thread.h brings
// what the bridge says and what the clock says, and ends it.
//
// One mutex guards all. Under it a message may be sent, which does not block; callers are looked at
// and answered without it.
class RemoteCalls {
 public:
  // More of them fail with the rule's errno.
  static constexpr std::size_t kMostInFlight = 256;

  // Makes the remote thread call expire() at this CLOCK_MONOTONIC; 0: not; kAtOnce: look again, and
  // leave the time as it is. Called with the mutex held.
  static constexpr std::uint64_t kAtOnce = 1;
  using Arm = std::function<void(std::uint64_t ns)>;

  // All outlive it.
  RemoteCalls(const Dispatcher& dispatcher, const Statistics& statistics, ActorPool& pool, Arm arm);
  RemoteCalls(const RemoteCalls&) = delete;
  RemoteCalls& operator=(const RemoteCalls&) = delete;
  ~RemoteCalls() = default;

  // On a receiver's thread, the thread cache being its own. `slot`, which may be null, is released
  // when the call is over. `maybe_sent`: a worker before us may have sent it.
  void begin(const PendingCall& call, JournalSlot* slot, std::shared_ptr<RemoteEnd> end,
             kernel::ThreadCache& threads, bool maybe_sent);
  // The listener has no user any more: its calls are forgotten.
  void forget(std::uint64_t tag);

  // On the remote thread:
  // The socket to the bridge for this plugin, instead of the one before; not owned.
  void connect(std::uint32_t plugin, int socket);
  // There is no bridge: whether there are plugins is not known.
  void disconnect(std::uint32_t plugin);
  // A message of the bridge. False where no bridge says that.
  [[nodiscard]] bool take_message(std::uint32_t plugin, std::string_view bytes,
                                  std::vector<UniqueFd> fds);
  // Ends what is late, and arms for the next.
  void expire(std::uint64_t now_ns);
  // Its socket took no more: it is to be watched for room, and then to be given what waits.
  [[nodiscard]] bool is_blocked(std::uint32_t plugin) const { return blocked_[plugin]; }
  void send_waiting(std::uint32_t plugin);

  [[nodiscard]] std::size_t in_flight() const;

 private:
  using Id = std::uint64_t;
  // What the bridge has told of a plugin.
  struct Plugin {
    enum class State : std::uint8_t { kUnknown, kAbsent, kPresent };
    int socket = -1;
    State state = State::kUnknown;
    std::shared_ptr<const emulators::remote::Described> described;
  };
  struct Entry {
    Id id = 0;
    PendingCall call;
    JournalSlot* slot = nullptr;
    std::shared_ptr<RemoteEnd> end;
    const emulators::Remote* rule = nullptr;
    std::uint64_t deadline_ns = 0;
    // Of the shape that it was copied by, which is the plugin's; null while it is not copied.
    std::shared_ptr<const emulators::remote::Described> described;
    const emulators::remote::CallShape* shape = nullptr;
    std::string message;
    std::vector<Room> rooms;
    bool is_sent = false;
    bool maybe_done = false;  // a plugin that has gone may have served it

    [[nodiscard]] std::uint32_t plugin() const { return rule->plugin; }
  };
  using Entries = std::map<Id, Entry>;

  using Ending = WithoutAnswer;

  // Without the mutex; nothing: the call is to go into the table.
  [[nodiscard]] std::optional<Ending> verdict_at_once(Entry& entry, const Plugin& plugin,
                                                      kernel::ThreadCache& threads) const;
  // Copies the arguments as the plugin wants them.
  [[nodiscard]] std::optional<Ending> prepare(
      Entry& entry, const std::shared_ptr<const emulators::remote::Described>& described,
      kernel::ThreadCache& threads) const;
  static void finish(const Entry& entry, const Ending& ending, kernel::ThreadCache& threads);
  void give(Entry entry, emulators::remote::Answer answer, UniqueFd file);
  // All calls of a plugin that serves them no longer.
  void settle(std::uint32_t plugin, Plugin::State state);
  void on_described(std::uint32_t plugin, emulators::remote::Described described);
  [[nodiscard]] bool on_answer(std::uint32_t plugin, emulators::remote::Answer answer,
                               std::vector<UniqueFd> fds);
  [[nodiscard]] static std::optional<Ending> without_plugin(const Entry& entry,
                                                            RemoteTrouble trouble);

  // With it:
  // What is left of a call of this thread that a signal has interrupted: the same call takes its
  // place, for another one it is given up. Whether the call has been taken on.
  [[nodiscard]] bool supersede(Entry& entry);
  void insert(Entry entry);
  void send(Entry& entry);
  void cancel(const Entry& entry);
  void remove(Entries::iterator entry);
  void sweep();
  // Out of the table, those for which it holds.
  template <typename Holds>
  [[nodiscard]] std::vector<Entry> extract(Holds holds);

  const emulators::Program& program_;
  const Statistics& statistics_;
  ActorPool& pool_;
  const Arm arm_;
  kernel::ThreadCache threads_;  // the remote thread's

  mutable std::mutex mutex_;
  std::vector<Plugin> plugins_;
  std::vector<std::atomic<bool>> blocked_;  // by plugin; looked at without the mutex
  Entries entries_;                         // in the order of their beginning
  Id next_id_;
  std::uint64_t armed_ns_ = 0;
};

}  // namespace sidecall::worker
