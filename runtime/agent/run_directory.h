// The agent's run directory: closed to others, and one agent's only.
#pragma once

#include <string>
#include <string_view>

#include "agent/socket.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace sidecall::agent {

// Holds the directory's lock for as long as it lives. The lock file itself stays: removing it would
// let two agents lock two files of one name.
class RunDirectory {
 public:
  // Creates the directory, mode 0700, where it is missing. An existing one must be ours and closed
  // to everybody else. Another agent in it is an error that names its pid.
  [[nodiscard]] static Result<RunDirectory> open(const std::string& path);

  // The socket of this name in it: `old`, where that is one and the name still leads to it, else a
  // fresh one.
  [[nodiscard]] Result<ListeningSocket> bind(std::string_view name, UniqueFd old = {}) const;

 private:
  RunDirectory(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

}  // namespace sidecall::agent
