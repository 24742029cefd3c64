// How many connections are open that somebody else owns.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace sidecall::agent {

// gRPC takes a connection's descriptor and closes it when it likes, without telling. A socket has
// an inode number of its own, by which one that has been closed, or whose descriptor's number
// another file has by now, is known. For one thread.
class ConnectionCount {
 public:
  // `fd` is a socket that is open now.
  void add(int fd);
  // Those that still are.
  [[nodiscard]] std::size_t open();

 private:
  std::vector<std::pair<int, ino_t>> connections_;
};

}  // namespace sidecall::agent
