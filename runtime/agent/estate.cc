#include "agent/estate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace sidecall::agent {
namespace {

using keeper::Label;

void place(Estate& estate, keeper::Kept kept) {
  switch (kept.label.kind) {
    case Label::Kind::kProcess:
      estate.process = std::move(kept.fd);
      return;
    case Label::Kind::kControl:
      estate.control = std::move(kept.fd);
      return;
    case Label::Kind::kMemory:
      estate.memory = std::move(kept.fd);
      return;
    case Label::Kind::kListener:
      estate.listeners.push_back({kept.label.tag, kept.label.pid, std::move(kept.fd)});
      return;
    case Label::Kind::kBridgeProcess:
      estate.bridge_process = std::move(kept.fd);
      return;
    case Label::Kind::kBridgeControl:
      estate.bridge_control = std::move(kept.fd);
      return;
    case Label::Kind::kSocket:
    case Label::Kind::kConnection:
      return;
  }
}

}  // namespace

Inheritance sort_out(std::vector<RecordDirectory::Found> records, std::vector<keeper::Kept> kept) {
  Inheritance all;
  std::map<std::uint64_t, std::vector<keeper::Kept>> by_number;
  for (keeper::Kept& each : kept) {
    if (each.label.sandbox == 0) {
      all.sockets.push_back(std::move(each));
    } else {
      by_number[each.label.sandbox].push_back(std::move(each));
    }
  }
  for (RecordDirectory::Found& found : records) {
    all.next_number = std::max(all.next_number, found.number + 1);
    auto items = by_number.extract(found.number);
    if (!found.record) {
      all.refused.push_back({found.number, std::move(found.record).error().message});
    } else if (items.empty()) {
      all.lost.push_back(std::move(*found.record));
    } else {
      Estate& estate = all.estates.emplace_back();
      estate.record = std::move(*found.record);
      for (keeper::Kept& each : items.mapped()) place(estate, std::move(each));
      std::sort(estate.listeners.begin(), estate.listeners.end(),
                [](const auto& one, const auto& other) { return one.tag < other.tag; });
    }
  }
  for (const auto& [number, items] : by_number) {
    all.next_number = std::max(all.next_number, number + 1);
    all.refused.push_back({number, "its record is missing"});
  }
  return all;
}

}  // namespace sidecall::agent
