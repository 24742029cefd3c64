// One plugin of one sandbox: from the worker's socket to the plugin's stream and back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"
#include "bridge/settings.h"
#include "emulators/remote_call.h"
#include "sidecall/v1/emulator.grpc.pb.h"

namespace sidecall::bridge {

// Two threads, each in one blocking wait: one carries calls to the plugin, the other its answers to
// the worker. A plugin that takes no more calls holds up its own socket, and so nothing else.
// Nothing is kept here: what a stream that breaks had taken is the worker's to know.
//
// One mutex guards what the two and the control thread share; another one the writing end of the
// stream, for as long as a write lasts.
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
  using Stream = grpc::ClientReaderWriter<v1::ServeRequest, v1::ServeResponse>;
  // The worker's socket, for as long as anybody uses it.
  using Link = std::shared_ptr<const UniqueFd>;

  void serve();                  // the thread of answers
  void carry(const Link& link);  // that of calls, one for each link
  // False once the connection is of no use.
  [[nodiscard]] bool serve_connection(Stub& stub);
  [[nodiscard]] bool describe(Stub& stub, emulators::remote::Described& described);
  void read_answers(Stream& stream, const Link& link);
  void carry_one(const emulators::remote::ToBridge& message);
  void tell(const Link& link, const emulators::remote::FromBridge& message, int fd = -1) const;

  const Settings& settings_;
  const std::string plugin_;
  const Events events_;
  std::uint32_t epoch_ = 0;  // the answers' thread's own

  std::mutex mutex_;
  std::condition_variable changed_;
  UniqueFd connection_;        // that is not used yet
  bool is_connected_ = false;  // one is in use
  bool is_absent_ = false;
  Link link_;
  grpc::ClientContext* context_ = nullptr;  // of the stream there is

  std::atomic<bool> is_answering_{false};
  std::mutex write_mutex_;
  Stream* stream_ = nullptr;
  std::uint32_t stream_epoch_ = 0;
};

}  // namespace sidecall::bridge
