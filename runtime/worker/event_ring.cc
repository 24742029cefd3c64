#include "worker/event_ring.h"

#include <algorithm>

namespace sidecall::worker {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

void EventRecord::set_text(std::string_view from) {
  text_bytes = static_cast<std::uint32_t>(from.copy(text.data(), text.size()));
}

std::string_view EventRecord::get_text() const {
  return {text.data(), std::min<std::size_t>(text_bytes, text.size())};
}

EventRing::Pushed EventRing::push(const EventRecord& record) {
  std::uint64_t position = state_.head.load(memory_order_relaxed);
  for (;;) {
    const std::uint64_t turn = slot(position).turn.load(memory_order_acquire);
    if (turn < turn_to_write(position)) {
      state_.lost.fetch_add(1, memory_order_relaxed);
      return Pushed::kLost;
    }
    if (turn > turn_to_write(position)) {
      position = state_.head.load(memory_order_relaxed);
    } else if (state_.head.compare_exchange_weak(position, position + 1, memory_order_relaxed)) {
      break;
    }
  }
  EventSlot& taken = slot(position);
  taken.record = record;
  taken.turn.store(turn_to_write(position) + 1, memory_order_release);
  const std::uint64_t waiting = position + 1 - state_.tail.load(memory_order_relaxed);
  return waiting == slots_.size() / 2 ? Pushed::kHalfFull : Pushed::kStored;
}

std::vector<EventRecord> EventRing::drain() {
  std::vector<EventRecord> records;
  std::uint64_t tail = state_.tail.load(memory_order_relaxed);
  while (records.size() < slots_.size()) {
    EventSlot& next = slot(tail);
    if (next.turn.load(memory_order_acquire) != turn_to_write(tail) + 1) break;
    records.push_back(next.record);
    next.turn.store(turn_to_write(tail) + 2, memory_order_release);
    state_.tail.store(++tail, memory_order_relaxed);
  }
  return records;
}

std::uint64_t EventRing::take_lost() {
  const std::uint64_t lost = state_.lost.load(memory_order_relaxed);
  return lost - state_.lost_told.exchange(lost, memory_order_relaxed);
}

void EventRing::repair() {
  // What is whole stays for the reader: only the unwritten are turned into empty records of no
  // kind.
  const std::uint64_t head = state_.head.load(memory_order_relaxed);
  const std::uint64_t tail = state_.tail.load(memory_order_relaxed);
  for (std::uint64_t step = 0; step < std::min<std::uint64_t>(head - tail, slots_.size()); ++step) {
    EventSlot& each = slot(tail + step);
    if (each.turn.load(memory_order_acquire) != turn_to_write(tail + step)) continue;
    each.record = EventRecord{.kind = EventRecord::Kind{}};
    each.turn.store(turn_to_write(tail + step) + 1, memory_order_release);
    state_.lost.fetch_add(1, memory_order_relaxed);
  }
}

}  // namespace sidecall::worker
