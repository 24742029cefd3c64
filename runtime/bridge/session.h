// One plugin of one sandbox: from the worker's socket to the plugin's stream and back.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"
#include "bridge/exchange.h"
#include "bridge/settings.h"
#include "emulators/remote_call.h"
#include "sidecall/v1/emulator.grpc.pb.h"

namespace sidecall::bridge {

// One thread sees connections come and go; two take turns at the worker's socket, so that while one
// waits for an answer the other waits for the next call. A plugin that takes no more calls holds up
// its own socket, and so nothing else. Nothing is kept here: what a stream that breaks had taken is
// the worker's to know.
//
// One mutex guards what they and the control thread share.
class Session {
 public:
  // Called on a thread of the session's.
  struct Events {
    std::function<void()> disconnected;  // a connection is wanted
    std::function<void()> serving;
    std::function<void(const std::string&)> says;
    std::function<void()> worker_left;  // its socket has closed
  };

  // `settings` outlives it.
  Session(const Settings& settings, std::string plugin, Events events);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = delete;  // it lives as long as the process

  // From the control thread:
  void use_connection(UniqueFd connection);
  void use_worker(UniqueFd socket);
  void note_absent();
  // Reports once more where a connection is wanted.
  void announce();

 private:
  using Stub = v1::Emulator::Stub;
  // The worker's socket, for as long as anybody uses it.
  using Link = std::shared_ptr<const UniqueFd>;

  void serve();                  // the first thread
  void carry(const Link& link);  // two for each link
  // False once the connection is of no use.
  [[nodiscard]] bool serve_connection(Stub& stub, int connection);
  [[nodiscard]] bool describe(Stub& stub, emulators::remote::Described& described);
  // Until the connection, the stream or the worker has gone.
  void wait_for_end(int connection, const Link& link, const Exchange& exchange);
  void look_again();  // wakes it
  void carry_one(const emulators::remote::ToBridge& message, const Link& link);
  void give(const v1::ServeResponse& response, const Link& link) const;
  void tell(const Link& link, const emulators::remote::FromBridge& message, int fd = -1) const;

  const Settings& settings_;
  const std::string plugin_;
  const Events events_;
  const UniqueFd looks_;     // eventfd: look_again()
  std::uint32_t epoch_ = 0;  // the first thread's own

  std::mutex mutex_;
  std::condition_variable changed_;
  UniqueFd connection_;        // that is not used yet
  bool is_connected_ = false;  // one is in use
  bool is_absent_ = false;
  Link link_;
  std::shared_ptr<Exchange> exchange_;  // with the plugin, of the description exchange_epoch_
  std::uint32_t exchange_epoch_ = 0;
};

}  // namespace sidecall::bridge
