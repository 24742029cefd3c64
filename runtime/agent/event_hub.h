// Who watches, and what.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "agent/snapshot.h"
#include "base/result.h"
#include "sidecall/v1/agent.pb.h"

namespace sidecall::agent {

class Watcher {
 public:
  Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  virtual ~Watcher() = default;
  // On any thread; returns at once. May still come after it was removed.
  virtual void deliver(const std::shared_ptr<const v1::Event>& event) = 0;
};

struct WatchFilter {
  std::string sandbox{};      // empty: all of them
  std::uint32_t kinds = ~0U;  // (1 << v1::Event::Kind) each
  [[nodiscard]] static WatchFilter of(const v1::WatchRequest& request);
  [[nodiscard]] bool passes(const v1::Event& event) const;
};

// Brings events to watchers. May be used by any thread; no watcher is called under the lock.
class EventHub {
 public:
  static constexpr std::size_t kMostWatchers = 32;

  // The last that were published and are not single calls, oldest first.
  static constexpr std::size_t kMostRecent = 256;
  using Events = std::deque<std::shared_ptr<const v1::Event>>;
  [[nodiscard]] Events recent(const WatchFilter& filter) const;

  // From now on, for every sandbox on the board and all that come. Where `past` is given, it
  // becomes what recent() gives at that moment. False where there are too many.
  [[nodiscard]] bool add(std::shared_ptr<Watcher> watcher, WatchFilter filter,
                         const SnapshotBoard& board, Events* past = nullptr);
  void remove(const Watcher& watcher, const SnapshotBoard& board);

  void publish(v1::Event event);
  [[nodiscard]] bool is_watched() const;
  // Lets the workers on the board tell of those calls that somebody watches, and of no others:
  // after each change of the board.
  void tell_workers(const SnapshotBoard& board) const;

 private:
  void tell_workers_locked(const SnapshotBoard& board) const;
  [[nodiscard]] Events recent_locked(const WatchFilter& filter) const;

  mutable std::mutex mutex_;
  std::map<const Watcher*, std::pair<std::shared_ptr<Watcher>, WatchFilter>> watchers_;
  Events recent_;
};

}  // namespace sidecall::agent
