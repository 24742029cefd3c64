#include "agent/connection_count.h"

#include <sys/stat.h>

#include <optional>

namespace sidecall::agent {
namespace {

std::optional<ino_t> socket_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode)) return std::nullopt;
  return status.st_ino;
}

}  // namespace

void ConnectionCount::add(int fd) {
  if (const auto socket = socket_of(fd)) connections_.emplace_back(fd, *socket);
}

std::size_t ConnectionCount::open() {
  std::erase_if(connections_, [](const auto& connection) {
    return socket_of(connection.first) != connection.second;
  });
  return connections_.size();
}

}  // namespace sidecall::agent
