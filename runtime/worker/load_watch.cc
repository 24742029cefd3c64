#include "worker/load_watch.h"

#include <utility>

namespace sidecall::worker {

LoadWatch::Advice LoadWatch::note(pid_t caller, unsigned further, unsigned most,
                                  FunctionRef<bool()> another_waits,
                                  FunctionRef<std::uint64_t()> served_by_others) {
  if (caller != callers_[newest_]) {
    newest_ = (newest_ + 1) % callers_.size();
    callers_[newest_] = caller;
    if (further < most && another_waits()) ++waiting_;
  }
  if (++calls_ < kWindow) return Advice::kStay;
  calls_ = 0;
  const unsigned waiting = std::exchange(waiting_, 0);
  const std::uint64_t served = served_by_others();
  const std::uint64_t share = served - std::exchange(served_before_, served);
  if (further > 0 && share < kWindow / kIdleShare) return Advice::kShrink;
  return waiting >= kWaiting ? Advice::kGrow : Advice::kStay;
}

}  // namespace sidecall::worker
