#include "kernel/thread_cache.h"

#include <algorithm>

namespace sidecall::kernel {

ThreadDirectory* ThreadCache::find(pid_t tid) {
  const auto found = std::ranges::find(entries_, tid, &Entry::tid);
  if (found == entries_.end() || !found->directory) return nullptr;
  found->used = ++uses_;
  return &*found->directory;
}

ThreadDirectory& ThreadCache::keep(pid_t tid, ThreadDirectory directory) {
  auto place = std::ranges::find(entries_, tid, &Entry::tid);
  if (place == entries_.end()) place = std::ranges::min_element(entries_, {}, &Entry::used);
  place->tid = tid;
  place->used = ++uses_;
  return place->directory.emplace(std::move(directory));
}

}  // namespace sidecall::kernel
