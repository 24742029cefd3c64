// What happens in a worker and is told to whoever watches: records in the memory that it shares
// with the agent.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "emulators/verdict.h"

namespace sidecall::worker {

// One event, as plain data. Whoever reads one reads what a worker wrote, which reads what a
// container wrote: every field may be anything.
struct EventRecord {
  enum class Kind : std::uint32_t {
    kCall = 1,        // a call was answered; only where somebody watches
    kPrivileged = 2,  // a privileged step was made for a caller, or refused; always
  };
  static constexpr std::uint32_t kNoUser = ~0U;
  static constexpr std::size_t kMostText = 208;

  std::uint64_t unix_ns = 0;
  Kind kind = Kind::kCall;
  std::uint32_t route = 0;       // index into the statistics' routes
  std::int32_t tid = 0;          // of the caller, in the agent's pid namespace
  std::uint32_t user = kNoUser;  // the caller's, in the sandbox's user namespace; if it is known
  emulators::VerdictKind verdict{};  // of a step: kErrno or kValue
  std::uint32_t text_bytes = 0;
  std::int64_t number = 0;  // the errno or the value
  std::array<char, kMostText> text{};

  void set_text(std::string_view from);  // cut to what there is room for
  [[nodiscard]] std::string_view get_text() const;
};

struct EventSlot {
  std::atomic<std::uint64_t> turn{0};
  EventRecord record;
};

// Who has been where. What writers change is on another line of the cache than what the reader
// does.
struct EventRingState {
  alignas(64) std::atomic<std::uint64_t> head{0};  // of writers
  std::atomic<std::uint64_t> lost{0};
  alignas(64) std::atomic<std::uint64_t> tail{0};  // the reader's
  std::atomic<std::uint64_t> lost_told{0};         // the reader's: of `lost`
};

// A bounded queue of many writers, the worker's threads, and one reader, the agent. A writer never
// waits: what does not fit is lost and counted. All of it works on zeroed memory.
//
// A slot's turn says who may use it: at the n-th time around 2n, a writer; 2n + 1, the reader.
class EventRing {
 public:
  static constexpr std::size_t kSlots = 512;

  EventRing(std::span<EventSlot> slots, EventRingState& state) : slots_(slots), state_(state) {}

  enum class Pushed : std::uint8_t {
    kStored,
    kHalfFull,  // stored; the reader should come before it is too late
    kLost,
  };
  Pushed push(const EventRecord& record);

  // What has been written since the last time, oldest first, at most kSlots.
  [[nodiscard]] std::vector<EventRecord> drain();
  // Once no writer is left: gives up what one had begun to write when it died.
  void repair();

  // The reader's: how many were lost since it asked last.
  [[nodiscard]] std::uint64_t take_lost();

 private:
  [[nodiscard]] EventSlot& slot(std::uint64_t position) const {
    return slots_[position % slots_.size()];
  }
  [[nodiscard]] std::uint64_t turn_to_write(std::uint64_t position) const {
    return position / slots_.size() * 2;
  }

  std::span<EventSlot> slots_;
  EventRingState& state_;
};

}  // namespace sidecall::worker
