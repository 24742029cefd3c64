#include "keeper/store.h"

#include <poll.h>

#include <algorithm>
#include <map>
#include <utility>

namespace sidecall::keeper {
namespace {

// seccomp_unotify(2): POLLHUP once no task uses the filter any more.
bool is_hung_up(int listener) {
  pollfd look{listener, 0, 0};
  return ::poll(&look, 1, 0) == 1 && (look.revents & POLLHUP) != 0;
}

}  // namespace

void Store::put(const Label& label, UniqueFd fd) {
  drop(label);
  items_.push_back({label, std::move(fd)});
}

void Store::drop(const Label& label) {
  std::erase_if(items_, [&](const Kept& kept) { return kept.label.names_the_same(label); });
}

void Store::forget(std::uint64_t sandbox) {
  std::erase_if(items_, [&](const Kept& kept) { return kept.label.sandbox == sandbox; });
}

void Store::forget_deserted() {
  std::map<std::uint64_t, bool> deserted;
  for (const Kept& kept : items_) {
    if (kept.label.kind != Label::Kind::kListener) continue;
    bool& all = deserted.try_emplace(kept.label.sandbox, true).first->second;
    all = all && is_hung_up(kept.fd.get());
  }
  for (const auto& [sandbox, all] : deserted) {
    if (all) forget(sandbox);
  }
}

bool Store::has_sandboxes() const {
  return std::any_of(items_.begin(), items_.end(),
                     [](const Kept& kept) { return kept.label.sandbox != 0; });
}

}  // namespace sidecall::keeper
