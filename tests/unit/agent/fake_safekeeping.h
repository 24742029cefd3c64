// Safekeeping that only remembers.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "agent/safekeeping.h"

namespace sidecall::agent {

class FakeSafekeeping final : public Safekeeping {
 public:
  using Key = std::tuple<std::uint64_t, keeper::Label::Kind, std::uint64_t>;

  Result<void> begin(const Record& record) override {
    if (is_full) return failure("No space left on device");
    records[record.number] = record;
    return {};
  }
  void keep(const keeper::Label& label, int fd) override {
    kept[{label.sandbox, label.kind, label.tag}] = fd;
  }
  void drop(const keeper::Label& label) override {
    kept.erase({label.sandbox, label.kind, label.tag});
  }
  void end(std::uint64_t number) override {
    records.erase(number);
    std::erase_if(kept, [&](const auto& item) { return std::get<0>(item.first) == number; });
  }

  [[nodiscard]] bool has(std::uint64_t sandbox, keeper::Label::Kind kind,
                         std::uint64_t tag = 0) const {
    return kept.count({sandbox, kind, tag}) != 0;
  }

  std::map<std::uint64_t, Record> records;
  std::map<Key, int> kept;
  bool is_full = false;
};

}  // namespace sidecall::agent
