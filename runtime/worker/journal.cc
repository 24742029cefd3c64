#include "worker/journal.h"

#include <algorithm>
#include <cstring>

namespace sidecall::worker {
namespace {

// struct seccomp_notif starts with its id; a slot is aligned for it.
std::atomic_ref<std::uint64_t> id_of(std::array<std::byte, JournalSlot::kNotificationBytes>& slot) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(slot.data()));
}

}  // namespace

std::uint64_t JournalSlot::id() const {
  std::uint64_t value = 0;
  std::memcpy(&value, notification.data(), sizeof value);
  return value;
}

void Journal::begin() {
  for (JournalSlot& slot : slots_.first(used_)) {
    if (slot.id() == 0) slot.taken = 0;
  }
}

JournalSlot* Journal::take(std::uint64_t tag) {
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    JournalSlot& slot = slots_[index];
    // Looked at first: a write takes the line from whoever serves that call.
    if (slot.taken != 0 || slot.taken.exchange(1) != 0) continue;
    const auto needed = static_cast<std::uint32_t>(index + 1);
    std::uint32_t used = used_;
    while (used < needed && !used_.compare_exchange_weak(used, needed)) {
    }
    slot.acting = 0;
    slot.queued = 0;
    slot.blame = 0;
    slot.left = 0;
    slot.tag = tag;
    return &slot;
  }
  return nullptr;
}

void Journal::release(JournalSlot& slot) {
  id_of(slot.notification).store(0);
  slot.taken = 0;
}

void Journal::record(JournalSlot& slot, std::span<const std::byte> notification) {
  constexpr std::size_t kId = sizeof(std::uint64_t);
  std::uint64_t id = 0;
  std::memcpy(&id, notification.data(), kId);
  const auto rest = notification.subspan(kId);
  std::copy(rest.begin(), rest.end(), slot.notification.begin() + kId);
  slot.queued = 1;
  id_of(slot.notification).store(id);
}

void Journal::blame(bool by_itself) const {
  for (JournalSlot& slot : slots_.first(used_)) {
    if (slot.id() == 0) continue;
    if (slot.is_begun()) slot.blame += by_itself ? 2 : 1;
    slot.left = 1;
  }
}

void Journal::requeue(JournalSlot& slot) {
  slot.queued = 1;
  slot.acting = 0;
}

std::vector<JournalSlot*> Journal::unfinished(std::uint64_t tag) const {
  std::vector<JournalSlot*> found;
  for (JournalSlot& slot : slots_.first(used_)) {
    if (slot.id() == 0 || slot.tag != tag) continue;
    const bool known = std::any_of(found.begin(), found.end(), [&](const JournalSlot* other) {
      return other->id() == slot.id();
    });
    // A worker that died between copying a call and forgetting the original has left two of it.
    if (known) {
      release(slot);
    } else {
      found.push_back(&slot);
    }
  }
  return found;
}

}  // namespace sidecall::worker
