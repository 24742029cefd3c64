#include "worker/made_once.h"

#include <algorithm>

namespace sidecall::worker {

bool MadeOnce::begin(const kernel::Notification& call) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return !is_under_way(call.tid); });
  const auto is_same = [&](const Entry& entry) {
    return entry.call.tid == call.tid && entry.call.arch == call.arch && entry.call.nr == call.nr &&
           entry.call.args == call.args && entry.was_done && Clock::now() - entry.ended <= kLongest;
  };
  const bool was_made = std::any_of(entries_.begin(), entries_.end(), is_same);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.call.tid == call.tid; });
  entries_.push_back({.call = call, .was_done = was_made});
  return was_made;
}

void MadeOnce::end(const kernel::Notification& call, bool was_done, bool was_answered) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.is_under_way && entry.call.id == call.id;
    });
    if (found == entries_.end()) return;
    found->was_done |= was_done;
    if (found->was_done && !was_answered) {
      found->is_under_way = false;
      found->ended = Clock::now();
    } else {
      entries_.erase(found);
    }
    const auto oldest = std::find_if(entries_.begin(), entries_.end(),
                                     [](const Entry& entry) { return !entry.is_under_way; });
    if (entries_.size() > kMost && oldest != entries_.end()) entries_.erase(oldest);
  }
  ended_.notify_all();
}

bool MadeOnce::is_under_way(pid_t tid) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.is_under_way && entry.call.tid == tid;
  });
}

}  // namespace sidecall::worker
