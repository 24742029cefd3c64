// Calls in flight, in memory that outlives the worker.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sidecall::worker {

// One call in flight. The kernel receives straight into `notification`, so that there is no moment
// at which a call is taken and not on record: the received call is its own log entry, and its id,
// the first eight bytes, is 0 when there is none.
struct JournalSlot {
  static constexpr std::size_t kNotificationBytes = 256;

  std::atomic<std::uint64_t> tag{0};     // of the listener that it came from
  std::atomic<std::uint32_t> taken{0};   // by a thread, or with a call that nobody has finished
  std::atomic<std::uint32_t> acting{0};  // its emulator may have had an effect already
  std::atomic<std::uint32_t> queued{0};  // put on record for an actor, which begins it by `acting`
  std::atomic<std::uint32_t> blame{0};   // of deaths while it was being served: Journal::blame()
  std::atomic<std::uint32_t> left{0};    // by a dead worker, and no successor has come to it yet
  alignas(8) std::array<std::byte, kNotificationBytes> notification{};

  [[nodiscard]] std::uint64_t id() const;
  // Whether somebody was serving the call, where it has one.
  [[nodiscard]] bool is_begun() const { return left == 0 && (acting != 0 || queued == 0); }
  // Whether it has cost so many workers that the next should not try it again.
  [[nodiscard]] bool is_poisonous() const { return blame >= kPoison; }

  static constexpr std::uint32_t kPoison = 4;
};

// A worker's use of the slots. Threads share it; a slot belongs to whoever took it.
class Journal {
 public:
  static constexpr std::size_t kSlots = 1024;

  Journal(std::span<JournalSlot> slots, std::atomic<std::uint32_t>& used)
      : slots_(slots), used_(used) {}

  // For a worker that takes over from a dead one, before it has threads: frees what holds no call.
  void begin();

  // A free slot, marked with the listener's tag; null where all are in use.
  [[nodiscard]] JournalSlot* take(std::uint64_t tag);
  static void release(JournalSlot& slot);

  // Copies a received notification into a slot, its id last.
  static void record(JournalSlot& slot, std::span<const std::byte> notification);

  // For whoever holds the memory of a worker that has died: each call that it was serving may have
  // been the cause. Twice is enough where the worker is known to have failed `by_itself` (it
  // crashed); a worker that was killed, by a person or for want of memory, counts half as much,
  // because any call may have been in flight then. A worker that died before it came to what the
  // last one had left did not die of that.
  void blame(bool by_itself) const;

  // Puts a call that a dead worker had begun back to those that an actor is to begin.
  static void requeue(JournalSlot& slot);

  // Slots with calls of this listener that were in flight when the last worker died. They stay
  // taken: each is to be finished and released.
  [[nodiscard]] std::vector<JournalSlot*> unfinished(std::uint64_t tag) const;

 private:
  std::span<JournalSlot> slots_;
  std::atomic<std::uint32_t>& used_;  // slots beyond it were never used: their pages stay untouched
};

}  // namespace sidecall::worker
