// What an agent has left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/record.h"
#include "agent/record_directory.h"
#include "base/unique_fd.h"
#include "keeper/store.h"

namespace sidecall::agent {

// One sandbox of a dead agent. A descriptor may be missing where that agent died while it launched
// the first worker.
struct Estate {
  struct Listener {
    std::uint64_t tag = 0;
    pid_t pid = 0;
    UniqueFd fd;
  };

  Record record;
  UniqueFd process;  // pidfd of its worker
  UniqueFd control;
  UniqueFd memory;
  UniqueFd bridge_process;  // pidfd of its bridge, where its policy needs one
  UniqueFd bridge_control;
  std::vector<Listener> listeners;  // in the order of their tags
};

// All that has been left, sorted out.
struct Inheritance {
  struct Refused {
    std::uint64_t number = 0;
    std::string cause;
  };

  std::vector<Estate> estates;        // to be taken over, oldest first
  std::vector<Record> lost;           // of which nothing but the record is left
  std::vector<Refused> refused;       // of which something is kept, and the record is no use to us
  std::vector<keeper::Kept> sockets;  // that the agent listened on, or had accepted
  std::uint64_t next_number = 1;      // beyond all that were ever seen
};

[[nodiscard]] Inheritance sort_out(std::vector<RecordDirectory::Found> records,
                                   std::vector<keeper::Kept> kept);

}  // namespace sidecall::agent
