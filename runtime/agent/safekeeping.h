// Where a sandbox puts what must outlive the agent.
#pragma once

#include <cstdint>

#include "agent/record.h"
#include "base/result.h"
#include "keeper/protocol.h"

namespace sidecall::agent {

// Called on the loop's thread. What has been put is safe when the call returns, whatever becomes of
// the agent in the next moment; only begin() can fail, because a sandbox that could not be taken
// over is better not started.
class Safekeeping {
 public:
  Safekeeping() = default;
  Safekeeping(const Safekeeping&) = delete;
  Safekeeping& operator=(const Safekeeping&) = delete;
  virtual ~Safekeeping() = default;

  // A sandbox begins.
  [[nodiscard]] virtual Result<void> begin(const Record& record) = 0;
  // A duplicate of `fd`, instead of what had this label.
  virtual void keep(const keeper::Label& label, int fd) = 0;
  virtual void drop(const keeper::Label& label) = 0;
  // A sandbox ends: everything of it goes.
  virtual void end(std::uint64_t number) = 0;
};

}  // namespace sidecall::agent
