#include "worker/remote_calls.h"

#include <sys/socket.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "emulators/conditions.h"
#include "worker/remote_answer.h"

namespace sidecall::worker {
namespace {

namespace remote = emulators::remote;
using emulators::Verdict;

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

const remote::CallShape* find_shape(const remote::Described& described, std::string_view syscall,
                                    const emulators::Call& call) {
  const auto found = std::find_if(
      described.shapes.begin(), described.shapes.end(), [&](const remote::CallShape& shape) {
        const bool is_its_abi =
            shape.abis == 0 || (shape.abis >> static_cast<unsigned>(call.abi) & 1U) != 0;
        return shape.syscall == syscall && is_its_abi && emulators::hold(shape.when, call.args);
      });
  return found == described.shapes.end() ? nullptr : &*found;
}

}  // namespace

RemoteCalls::RemoteCalls(const Dispatcher& dispatcher, const Statistics& statistics,
                         ActorPool& pool, Arm arm)
    : program_(dispatcher.program()),
      statistics_(statistics),
      pool_(pool),
      arm_(std::move(arm)),
      plugins_(program_.plugins.size()),
      blocked_(program_.plugins.size()),
      // Beyond all that a worker before us has used.
      next_id_(now_ns()) {}

void RemoteCalls::begin(const PendingCall& call, JournalSlot* slot, std::shared_ptr<RemoteEnd> end,
                        kernel::ThreadCache& threads, bool maybe_sent) {
  Entry entry;
  entry.call = call;
  entry.slot = slot;
  entry.end = std::move(end);
  entry.rule = &program_.remotes[call.decision.instance];
  entry.maybe_done = maybe_sent;
  if (entry.rule->deadline_ms != 0) {
    entry.deadline_ns = now_ns() + std::uint64_t{entry.rule->deadline_ms} * 1'000'000;
  }
  std::unique_lock lock(mutex_);
  entry.id = next_id_++;
  if (entries_.size() >= kMostInFlight) sweep();
  const bool is_full = entries_.size() >= kMostInFlight;
  for (;;) {
    // The remote thread may change it meanwhile: then it is looked at again.
    const Plugin plugin = plugins_[entry.plugin()];
    lock.unlock();
    const auto verdict = is_full ? std::optional<Ending>(Errno{entry.rule->errno_value})
                                 : verdict_at_once(entry, plugin, threads);
    if (verdict) return finish(entry, *verdict, threads);
    lock.lock();
    const Plugin& now = plugins_[entry.plugin()];
    if (now.state == plugin.state && now.described == plugin.described) break;
  }
  if (!supersede(entry)) insert(std::move(entry));
}

std::optional<RemoteCalls::Ending> RemoteCalls::verdict_at_once(
    Entry& entry, const Plugin& plugin, kernel::ThreadCache& threads) const {
  switch (plugin.state) {
    case Plugin::State::kPresent:
      return prepare(entry, plugin.described, threads);
    case Plugin::State::kAbsent:
      return without_plugin(entry, RemoteTrouble::kAbsent);
    case Plugin::State::kUnknown:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<RemoteCalls::Ending> RemoteCalls::without_plugin(const Entry& entry,
                                                               RemoteTrouble trouble) {
  using Absent = emulators::Remote::Absent;
  // Whether what a worker before us has sent can be repeated, the next plugin's description tells.
  const bool can_tell = entry.shape != nullptr || entry.rule->absent != Absent::kWait ||
                        trouble == RemoteTrouble::kLate;
  const bool is_repeatable = entry.shape != nullptr && entry.shape->repeatable;
  return without_answer(*entry.rule, trouble,
                        can_tell && !is_repeatable && (entry.is_sent || entry.maybe_done));
}

std::optional<RemoteCalls::Ending> RemoteCalls::prepare(
    Entry& entry, const std::shared_ptr<const remote::Described>& described,
    kernel::ThreadCache& threads) const {
  const PendingCall& call = entry.call;
  const std::string& syscall = program_.routes[call.decision.route].name;
  const auto* const shape = find_shape(*described, syscall, call.decision.call);
  if (shape == nullptr) {
    return without_answer(*entry.rule, RemoteTrouble::kUnserved, entry.maybe_done);
  }
  if (entry.maybe_done && !shape->repeatable) {
    return without_answer(*entry.rule, RemoteTrouble::kLost, true);
  }
  entry.maybe_done = false;
  const bool is_copied = entry.shape != nullptr && *entry.shape == *shape;
  entry.described = described;
  entry.shape = shape;
  if (is_copied) {
    remote::set_epoch(entry.message, described->epoch);
    return std::nullopt;
  }

  remote::Call message{.id = entry.id,
                       .epoch = described->epoch,
                       .syscall = syscall,
                       .abi = call.decision.call.abi,
                       .nr = call.notification.nr,
                       .args = call.notification.args,
                       .tid = call.notification.tid,
                       .buffers = {},
                       .caller = {}};
  int failed = 0;
  const auto looked = entry.end->look(call, threads, [&](kernel::Target& target) {
    auto copied = copy_arguments(target, message.abi, message.args, *shape);
    if (copied) {
      message.buffers = std::move(copied->buffers);
      entry.rooms = std::move(copied->rooms);
    } else {
      failed = copied.error().value;
    }
    if (failed == 0 && shape->wants_caller) {
      auto caller = caller_of(target);
      if (caller) message.caller = std::move(*caller);
      if (!caller) failed = caller.error().value;
    }
    return emulators::Outcome(emulators::Continue{});
  });
  if (!looked) failed = EIO;
  if (failed != 0) return Errno{failed};
  entry.message = encode(remote::ToBridge(std::move(message)));
  return std::nullopt;
}

bool RemoteCalls::supersede(Entry& entry) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& each) {
    return each.second.call.notification.tid == entry.call.notification.tid;
  });
  if (found == entries_.end()) return false;
  Entry& old = found->second;
  // However often it is interrupted, its time is counted from the first.
  entry.deadline_ns = old.deadline_ns;
  const bool is_same = old.rule == entry.rule && remote::is_same_call(old.message, entry.message);
  if (!is_same) {
    cancel(old);
    remove(found);
    return false;
  }
  if (old.slot != nullptr) Journal::release(*old.slot);
  old.slot = entry.slot;
  if (old.slot != nullptr && old.is_sent) old.slot->acting = 1;
  old.call = entry.call;
  old.end = std::move(entry.end);
  return true;
}

void RemoteCalls::insert(Entry entry) {
  const Id id = entry.id;
  Entry& inserted = entries_.insert_or_assign(id, std::move(entry)).first->second;
  send(inserted);
  const std::uint64_t deadline = inserted.deadline_ns;
  if (deadline != 0 && (armed_ns_ == 0 || deadline < armed_ns_)) {
    armed_ns_ = deadline;
    arm_(deadline);
  }
}

void RemoteCalls::send(Entry& entry) {
  const Plugin& plugin = plugins_[entry.plugin()];
  const bool is_prepared = entry.described != nullptr && entry.described == plugin.described;
  if (plugin.state != Plugin::State::kPresent || blocked_[entry.plugin()] || !is_prepared) return;
  if (entry.slot != nullptr) entry.slot->acting = 1;
  entry.is_sent = ::send(plugin.socket, entry.message.data(), entry.message.size(),
                         MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  if (entry.is_sent) return;
  if (entry.slot != nullptr) entry.slot->acting = 0;
  // Any other failure is an end of the socket, which the remote thread sees.
  if (errno != EAGAIN) return;
  blocked_[entry.plugin()] = true;
  arm_(kAtOnce);
}

void RemoteCalls::cancel(const Entry& entry) {
  if (!entry.is_sent) return;
  const std::string message = encode(remote::ToBridge(remote::Cancelled{.id = entry.id}));
  // Only a courtesy: the answer of a call that is gone is dropped.
  static_cast<void>(::send(plugins_[entry.plugin()].socket, message.data(), message.size(),
                           MSG_DONTWAIT | MSG_NOSIGNAL));
}

void RemoteCalls::remove(Entries::iterator entry) {
  if (entry->second.slot != nullptr) Journal::release(*entry->second.slot);
  entries_.erase(entry);
}

template <typename Holds>
std::vector<RemoteCalls::Entry> RemoteCalls::extract(Holds holds) {
  std::vector<Entry> extracted;
  for (auto each = entries_.begin(); each != entries_.end();) {
    if (holds(each->second)) {
      extracted.push_back(std::move(each->second));
      each = entries_.erase(each);
    } else {
      ++each;
    }
  }
  return extracted;
}

// Callers that have gone leave calls behind which nobody would end where the policy says to wait.
void RemoteCalls::sweep() {
  for (auto each = entries_.begin(); each != entries_.end();) {
    const auto entry = each++;
    if (entry->second.end->is_waiting(entry->second.call.notification.id)) continue;
    cancel(entry->second);
    remove(entry);
  }
}

void RemoteCalls::forget(std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : extract([&](const Entry& each) { return each.end->tag() == tag; })) {
    cancel(entry);
    if (entry.slot != nullptr) Journal::release(*entry.slot);
  }
}

void RemoteCalls::finish(const Entry& entry, const Ending& ending, kernel::ThreadCache& threads) {
  entry.end->answer(entry.call, threads, [&](kernel::Target&) -> emulators::Outcome {
    return std::visit([](const auto& each) { return Verdict(each); }, ending);
  });
  if (entry.slot != nullptr) Journal::release(*entry.slot);
}

void RemoteCalls::connect(std::uint32_t plugin, int socket) {
  disconnect(plugin);
  const std::lock_guard lock(mutex_);
  plugins_[plugin].socket = socket;
}

void RemoteCalls::disconnect(std::uint32_t plugin) {
  settle(plugin, Plugin::State::kUnknown);
}

void RemoteCalls::settle(std::uint32_t plugin, Plugin::State state) {
  std::vector<std::pair<Entry, Ending>> over;
  {
    const std::lock_guard lock(mutex_);
    Plugin& its = plugins_[plugin];
    its.state = state;
    its.described.reset();
    blocked_[plugin] = false;
    if (state == Plugin::State::kUnknown) its.socket = -1;
    for (Entry& entry : extract([&](const Entry& each) { return each.plugin() == plugin; })) {
      if (entry.is_sent) statistics_.header().remote_lost.fetch_add(1, std::memory_order_relaxed);
      const auto trouble = entry.is_sent ? RemoteTrouble::kLost : RemoteTrouble::kAbsent;
      const bool was_in_vain = !entry.is_sent || entry.shape->repeatable;
      // A bridge that has died is not a plugin that is absent: another one will tell.
      const auto ending = state == Plugin::State::kUnknown && was_in_vain
                              ? std::nullopt
                              : without_plugin(entry, trouble);
      if (ending) {
        over.emplace_back(std::move(entry), *ending);
        continue;
      }
      entry.is_sent = false;
      if (entry.slot != nullptr && !entry.maybe_done) entry.slot->acting = 0;
      const Id id = entry.id;
      entries_.insert_or_assign(id, std::move(entry));
    }
  }
  for (const auto& [entry, ending] : over) finish(entry, ending, threads_);
}

bool RemoteCalls::take_message(std::uint32_t plugin, std::string_view bytes,
                               std::vector<UniqueFd> fds) {
  auto message = remote::decode_from_bridge(bytes);
  if (!message) return false;
  if (auto* answer = std::get_if<remote::Answer>(&*message)) {
    return on_answer(plugin, std::move(*answer), std::move(fds));
  }
  if (!fds.empty()) return false;
  if (auto* described = std::get_if<remote::Described>(&*message)) {
    on_described(plugin, std::move(*described));
  } else {
    settle(plugin, Plugin::State::kAbsent);
  }
  return true;
}

void RemoteCalls::on_described(std::uint32_t plugin, remote::Described described) {
  const auto shared = std::make_shared<const remote::Described>(std::move(described));
  std::vector<Entry> waiting;
  {
    const std::lock_guard lock(mutex_);
    Plugin& its = plugins_[plugin];
    its.state = Plugin::State::kPresent;
    its.described = shared;
    waiting = extract([&](const Entry& each) { return each.plugin() == plugin && !each.is_sent; });
  }
  for (Entry& entry : waiting) {
    const bool is_there = entry.end->is_waiting(entry.call.notification.id);
    const auto ending =
        is_there ? prepare(entry, shared, threads_) : std::optional<Ending>(Errno{ESRCH});
    if (ending) {
      finish(entry, *ending, threads_);
      continue;
    }
    const std::lock_guard lock(mutex_);
    insert(std::move(entry));
  }
}

bool RemoteCalls::on_answer(std::uint32_t plugin, remote::Answer answer,
                            std::vector<UniqueFd> fds) {
  const bool is_file = std::holds_alternative<remote::File>(answer.given);
  if (fds.size() != (is_file ? 1U : 0U)) return false;
  UniqueFd file = is_file ? std::move(fds.front()) : UniqueFd();
  if (is_file && !is_sealed_memory(file.get())) return false;
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(answer.id);
    const bool is_asked =
        found != entries_.end() && found->second.is_sent && found->second.plugin() == plugin;
    if (!is_asked) {
      statistics_.header().remote_unknown.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    entry = std::move(found->second);
    entries_.erase(found);
  }
  give(std::move(entry), std::move(answer), std::move(file));
  return true;
}

void RemoteCalls::give(Entry entry, remote::Answer answer, UniqueFd file) {
  if (!std::holds_alternative<remote::OpenFile>(answer.given)) {
    if (file) {
      auto readable = open_to_read(entry.end->proc(), file.get());
      if (!readable) return finish(entry, readable.error(), threads_);
      file = std::move(*readable);
    }
    entry.end->answer(entry.call, threads_, [&](kernel::Target& target) {
      return outcome_of(target, *entry.rule, entry.rooms, answer, std::move(file));
    });
    if (entry.slot != nullptr) Journal::release(*entry.slot);
    return;
  }
  // Opening may sleep.
  const auto kept = std::make_shared<const Entry>(std::move(entry));
  const auto serve = [kept, answer = std::move(answer)](const Acting& acting) {
    kept->end->answer(kept->call, *acting.threads, [&](kernel::Target& target) {
      return open_as_caller(target, *acting.actor, kept->rooms, answer);
    });
    if (kept->slot != nullptr) Journal::release(*kept->slot);
  };
  const auto refuse = [kept] {
    kept->end->refuse_beyond_limits(kept->call);
    if (kept->slot != nullptr) Journal::release(*kept->slot);
  };
  if (!pool_.submit({.serve = serve, .refuse = refuse})) refuse();
}

void RemoteCalls::expire(std::uint64_t now) {
  std::vector<Entry> late;
  {
    const std::lock_guard lock(mutex_);
    late = extract(
        [&](const Entry& each) { return each.deadline_ns != 0 && each.deadline_ns <= now; });
    for (const Entry& entry : late) cancel(entry);
    armed_ns_ = 0;
    for (const auto& [id, entry] : entries_) {
      if (entry.deadline_ns == 0) continue;
      armed_ns_ = armed_ns_ == 0 ? entry.deadline_ns : std::min(armed_ns_, entry.deadline_ns);
    }
    arm_(armed_ns_);
  }
  for (const Entry& entry : late) {
    statistics_.header().remote_late.fetch_add(1, std::memory_order_relaxed);
    finish(entry, *without_plugin(entry, RemoteTrouble::kLate), threads_);
  }
}

void RemoteCalls::send_waiting(std::uint32_t plugin) {
  const std::lock_guard lock(mutex_);
  blocked_[plugin] = false;
  for (auto& [id, entry] : entries_) {
    if (entry.plugin() == plugin && !entry.is_sent) send(entry);
  }
}

std::size_t RemoteCalls::in_flight() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace sidecall::worker
