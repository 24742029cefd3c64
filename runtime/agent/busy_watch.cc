#include "agent/busy_watch.h"

namespace sidecall::agent {

bool BusyWatch::note(std::uint64_t calls) {
  const std::uint64_t more = calls - last_;
  last_ = calls;
  quiet_ = more < kFew ? quiet_ + 1 : 0;
  if (more >= kMany) busy_ = true;
  if (quiet_ >= kPatience) busy_ = false;
  return busy_;
}

}  // namespace sidecall::agent
