// One stream of calls and answers, used by several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "base/function_ref.h"
#include "sidecall/v1/emulator.grpc.pb.h"

namespace sidecall::bridge {

// Whoever has asked waits for the answer as well, unless somebody waits for answers already: with
// one call at a time no two threads meet inside gRPC, which costs as much as the call does. With
// more, one reads and all write.
class Exchange {
 public:
  using Stream = grpc::ClientReaderWriter<v1::ServeRequest, v1::ServeResponse>;
  using Give = FunctionRef<void(const v1::ServeResponse&)>;

  explicit Exchange(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  // False where the stream is broken, here and below. Blocks while the plugin takes no more.
  [[nodiscard]] bool write(const v1::ServeRequest& request);
  // Writes a call and gives the answers that come while this thread is the one that reads.
  [[nodiscard]] bool ask(const v1::ServeRequest& request, Give give);
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  // Waits for the other threads, which the stream's context has been cancelled for.
  void finish();

 private:
  // A plugin that answers nothing does not make this grow.
  static constexpr std::size_t kMostAsked = 4096;
  [[nodiscard]] bool read(v1::ServeResponse& response);

  std::mutex write_mutex_;          // for as long as a write lasts
  std::mutex read_mutex_;           // for as long as a read lasts
  std::unique_ptr<Stream> stream_;  // changed with both
  std::mutex turn_mutex_;
  std::set<std::uint64_t> asked_;  // and not answered
  bool is_read_ = false;
  std::atomic<bool> is_broken_{false};
};

}  // namespace sidecall::bridge
