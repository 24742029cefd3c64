#include "bridge/exchange.h"

#include <grpcpp/grpcpp.h>

namespace sidecall::bridge {

bool Exchange::write(const v1::ServeRequest& request) {
  const std::lock_guard lock(write_mutex_);
  if (stream_ != nullptr && stream_->Write(request)) return true;
  is_broken_ = true;
  return false;
}

bool Exchange::read(v1::ServeResponse& response) {
  const std::lock_guard lock(read_mutex_);
  if (stream_ != nullptr && stream_->Read(&response)) return true;
  is_broken_ = true;
  return false;
}

bool Exchange::ask(const v1::ServeRequest& request, Give give) {
  {
    const std::lock_guard lock(turn_mutex_);
    if (asked_.size() == kMostAsked) asked_.erase(asked_.begin());
    asked_.insert(request.call().id());
  }
  if (!write(request)) return false;
  {
    const std::lock_guard lock(turn_mutex_);
    if (is_read_ || asked_.empty()) return true;
    is_read_ = true;
  }
  for (bool is_last = false; !is_last;) {
    v1::ServeResponse response;
    const bool has_read = read(response);
    {
      // Given up before the answer is given: its caller may be quick with the next call.
      const std::lock_guard lock(turn_mutex_);
      asked_.erase(response.id());
      is_last = !has_read || asked_.empty();
      is_read_ = !is_last;
    }
    if (!has_read) return false;
    give(response);
  }
  return true;
}

void Exchange::finish() {
  const std::scoped_lock lock(write_mutex_, read_mutex_);
  static_cast<void>(stream_->Finish());
  stream_.reset();
}

}  // namespace sidecall::bridge
