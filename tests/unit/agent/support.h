// What the agent's tests share: a directory, a loop that runs until something holds, a log to look
// into, and the client side of its sockets.
#pragma once

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/event_loop.h"
#include "agent/log.h"
#include "base/unique_fd.h"

namespace sidecall::agent {

// Mode 0700; goes with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const;

 private:
  std::string path_;
};

class CapturedLog {
 public:
  explicit CapturedLog(LogFormat format = LogFormat::kText, LogLevel least = LogLevel::kDebug);
  [[nodiscard]] const Log& log() const { return log_; }
  [[nodiscard]] std::string text() const { return stream_->str(); }
  [[nodiscard]] bool has(std::string_view part) const {
    return text().find(part) != std::string::npos;
  }

 private:
  std::shared_ptr<std::ostringstream> stream_;
  Log log_;
};

class TestLoop {
 public:
  TestLoop();
  EventLoop& operator*() { return *loop_; }
  EventLoop* operator->() { return loop_.get(); }
  // Runs until `holds`; false where it did not within a time that only a fault can take.
  [[nodiscard]] bool run_until(const std::function<bool()>& holds);
  // Everything that is ready now has been served when it returns.
  void settle();

 private:
  std::unique_ptr<EventLoop> loop_;
};

// A real seccomp listener, of a thread that lives until it is destroyed.
class RealListener {
 public:
  RealListener();
  RealListener(const RealListener&) = delete;
  RealListener& operator=(const RealListener&) = delete;
  ~RealListener();
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  UniqueFd release_;
  std::thread thread_;
};

struct Pipe {
  Pipe();
  UniqueFd read;
  UniqueFd write;
  // Whether nobody holds the read end any more.
  [[nodiscard]] bool reader_gone() const;
};

[[nodiscard]] UniqueFd connect_to(const std::string& path);
void send_bytes(const UniqueFd& socket, std::string_view bytes, const std::vector<int>& fds = {});
void finish_sending(const UniqueFd& socket);
// What the peer has sent, once it has closed.
[[nodiscard]] std::string read_all(const UniqueFd& socket);
[[nodiscard]] bool peer_closed(const UniqueFd& socket);

// Ends the sidecall-keeper of a run directory, where it has one.
void end_keeper(const std::string& run_directory);

// How many descriptors this process has open.
[[nodiscard]] std::size_t open_descriptors();

}  // namespace sidecall::agent
