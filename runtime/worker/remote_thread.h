// The worker's thread for calls that plugins serve: what the bridge says, and what is late.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "worker/remote_calls.h"

namespace sidecall::worker {

class RemoteThread {
 public:
  // The bridge of this generation is gone, or is none. Called on the thread.
  using OnBridgeLost = std::function<void(std::uint64_t generation)>;

  // All outlive it. Its thread is started by begin(): what the process does while it has one thread
  // comes before.
  [[nodiscard]] static Result<std::unique_ptr<RemoteThread>> make(const Dispatcher& dispatcher,
                                                                  const Statistics& statistics,
                                                                  ActorPool& pool,
                                                                  OnBridgeLost on_bridge_lost);
  RemoteThread(const RemoteThread&) = delete;
  RemoteThread& operator=(const RemoteThread&) = delete;
  ~RemoteThread();  // waits for the thread's end

  void begin();  // once; does nothing after that

  [[nodiscard]] RemoteCalls& calls() { return calls_; }
  // The bridge's socket for this plugin, from now on. May be called from any thread.
  void connect(std::uint64_t generation, std::uint32_t plugin, UniqueFd socket);

 private:
  struct Link {
    UniqueFd socket;
    std::uint64_t generation = 0;
  };
  struct NewLink {
    std::uint32_t plugin = 0;
    Link link;
  };

  RemoteThread(const Dispatcher& dispatcher, const Statistics& statistics, ActorPool& pool,
               UniqueFd timer, UniqueFd wake, OnBridgeLost on_bridge_lost);
  void arm(std::uint64_t ns) const;
  void run();
  void take_new_links();
  [[nodiscard]] std::vector<pollfd> poll_set() const;
  void look_at(std::uint32_t plugin, short events);
  enum class Read : std::uint8_t { kNothing, kMessage, kNonsense };  // the last: also its end
  [[nodiscard]] Read read_one(std::uint32_t plugin);
  void lose(std::uint32_t plugin);

  const UniqueFd timer_;  // the next deadline
  const UniqueFd wake_;   // eventfd: something is new
  const OnBridgeLost on_bridge_lost_;
  RemoteCalls calls_;
  std::vector<Link> links_;  // by plugin; the thread's own

  std::mutex mutex_;
  std::vector<NewLink> new_links_;
  bool ending_ = false;

  std::thread thread_;
};

}  // namespace sidecall::worker
