#include "agent/watch_stream.h"

#include <memory>
#include <mutex>
#include <utility>

namespace sidecall::agent {
namespace {

// What a client that reads slowly may fall behind.
constexpr std::size_t kMostQueued = 4096;

class WatchStream final : public grpc::ServerWriteReactor<v1::Event>, public Watcher {
 public:
  WatchStream(EventHub& hub, const SnapshotBoard& board) : hub_(hub), board_(board) {}

  void begin(std::shared_ptr<WatchStream> self, const v1::WatchRequest& request) {
    self_ = self;
    const WatchFilter filter = WatchFilter::of(request);
    EventHub::Events past;
    ends_ = request.recent() == v1::RECENT_ONLY;
    if (ends_) {
      past = hub_.recent(filter);
    } else if (!hub_.add(std::move(self), filter, board_,
                         request.recent() == v1::RECENT_FIRST ? &past : nullptr)) {
      return finish(
          {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watch already; end one of the others"});
    }
    {
      const std::lock_guard lock(mutex_);
      queue_.insert(queue_.begin(), past.begin(), past.end());
    }
    StartSendInitialMetadata();
  }

  void deliver(const std::shared_ptr<const v1::Event>& event) override {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    if (queue_.size() >= kMostQueued) {
      ++lost_;
      return;
    }
    queue_.push_back(event);
    if (!writing_) write_next_locked();
  }

  void OnSendInitialMetadataDone(bool good) override { go_on(good); }
  void OnWriteDone(bool good) override { go_on(good); }
  void OnCancel() override { finish(grpc::Status::CANCELLED); }
  void OnDone() override {
    hub_.remove(*this, board_);
    const auto last = std::move(self_);
  }

 private:
  // One at a time; gRPC calls nothing of ours from within StartWrite() and Finish().
  void write_next_locked() {
    writing_ = true;
    if (queue_.empty()) {
      auto event = std::make_shared<v1::Event>();
      event->set_kind(v1::Event::EVENTS_LOST);
      event->set_lost(std::exchange(lost_, 0));
      current_ = std::move(event);
    } else {
      current_ = std::move(queue_.front());
      queue_.pop_front();
    }
    StartWrite(current_.get());
  }

  // After a write, or what counts as one.
  void go_on(bool good) {
    if (!good) return finish(grpc::Status::CANCELLED);
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (finished_) return;
    if (!queue_.empty() || lost_ != 0) return write_next_locked();
    if (!ends_) return;
    finished_ = true;
    Finish(grpc::Status::OK);
  }

  void finish(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(finished_, true)) Finish(status);
  }

  EventHub& hub_;
  const SnapshotBoard& board_;
  bool ends_ = false;                  // with what is recent
  std::shared_ptr<WatchStream> self_;  // until OnDone()
  std::shared_ptr<const v1::Event> current_;

  std::mutex mutex_;  // guards what follows
  EventHub::Events queue_;
  std::uint64_t lost_ = 0;
  bool writing_ = true;  // at first the metadata
  bool finished_ = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::Event>* start_watch_stream(EventHub& hub, const SnapshotBoard& board,
                                                        const v1::WatchRequest& request) {
  const auto stream = std::make_shared<WatchStream>(hub, board);
  stream->begin(stream, request);
  return stream.get();
}

}  // namespace sidecall::agent
