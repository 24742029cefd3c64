// A kernel::Listener in memory: the test plays the kernel and the callers.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "kernel/listener.h"

namespace sidecall::support {

// Keeps the contract that tests/kernel/listener_contract_test.cc states, which the real listener
// passes too. All methods may be called from any thread.
class FakeListener final : public kernel::Listener {
 public:
  struct AddedFd {
    std::uint64_t id = 0;  // of the call
    int number = -1;       // as the caller got it
    UniqueFd fd;           // a duplicate of what was added
    bool cloexec = false;
  };

  // A thread makes a call; the id in `call` is ignored. Gives the id that it gets.
  std::uint64_t call(kernel::Notification call) {
    const std::lock_guard lock(mutex_);
    call.id = next_id_++;
    calls_[call.id].notification = call;
    pending_.push_back(call.id);
    changed_.notify_all();
    return call.id;
  }

  // The thread dies, or a signal takes it out of the call: nobody waits for the answer any more.
  void kill_caller(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    calls_.at(id).state = State::kOver;
    std::erase(pending_, id);
  }

  // A signal reaches the receiving threads: those that are blocked now get EINTR.
  void interrupt_receive() {
    const std::lock_guard lock(mutex_);
    ++interrupts_;
    changed_.notify_all();
  }

  // The next receive() fails with `number`.
  void fail_receive(int number) {
    const std::lock_guard lock(mutex_);
    receive_failures_.push_back(number);
    changed_.notify_all();
  }

  // Every add_fd() from now on fails with `number`.
  void fail_add_fd(int number) {
    const std::lock_guard lock(mutex_);
    add_fd_failure_ = number;
  }

  void last_user_exits() {
    const std::lock_guard lock(mutex_);
    hung_up_ = true;
    changed_.notify_all();
  }

  // As a kernel before 6.6.
  void forget_sync_wake_up() {
    const std::lock_guard lock(mutex_);
    knows_sync_ = false;
  }

  // Empty where the call was not answered.
  [[nodiscard]] std::optional<kernel::Response> answer_to(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    return calls_.at(id).answer;
  }
  [[nodiscard]] kernel::Response wait_for_answer(std::uint64_t id) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_.at(id).answer.has_value(); });
    return *calls_.at(id).answer;
  }
  [[nodiscard]] bool sync_wake_up() {
    const std::lock_guard lock(mutex_);
    return sync_;
  }
  // For tests whose listener has no other thread at work.
  [[nodiscard]] const std::vector<AddedFd>& added_fds() const { return added_; }

  SysResult<kernel::Notification> receive(kernel::NotificationBuffer& buffer) override {
    const auto memory = buffer.notification();
    const bool zeroed = std::all_of(memory.begin(), memory.end(),
                                    [](std::byte byte) { return byte == std::byte{0}; });
    if (!zeroed || memory.size() < sizeof(seccomp_notif)) return sys_failure(EINVAL);
    std::unique_lock lock(mutex_);
    const int interrupts = interrupts_;
    changed_.wait(lock, [&] {
      return !receive_failures_.empty() || !pending_.empty() || hung_up_ ||
             interrupts_ != interrupts;
    });
    if (!receive_failures_.empty()) {
      const int number = receive_failures_.front();
      receive_failures_.pop_front();
      return sys_failure(number);
    }
    if (pending_.empty()) return sys_failure(hung_up_ ? ENOENT : EINTR);
    Call& call = calls_.at(pending_.front());
    pending_.pop_front();
    call.state = State::kReceived;
    // A newer kernel fills more than our headers know, and the next receive must not see it.
    std::fill(memory.begin(), memory.end(), std::byte{0xa5});
    return call.notification;
  }

  SysResult<void> reply(const kernel::Response& response,
                        kernel::NotificationBuffer& buffer) override {
    if (buffer.response().size() < sizeof(seccomp_notif_resp)) return sys_failure(EINVAL);
    if (response.proceed && (response.value != 0 || response.errno_value != 0)) {
      return sys_failure(EINVAL);
    }
    const std::lock_guard lock(mutex_);
    Call* const call = find_waiting(response.id);
    if (call == nullptr) return sys_failure(ENOENT);
    call->state = State::kOver;
    call->answer = response;
    changed_.notify_all();
    return {};
  }

  bool has_pending() override {
    const std::lock_guard lock(mutex_);
    return !pending_.empty();
  }

  bool is_waiting(std::uint64_t id) override {
    const std::lock_guard lock(mutex_);
    return find_waiting(id) != nullptr;
  }

  SysResult<int> add_fd(std::uint64_t id, int fd, bool cloexec, bool answers) override {
    const std::lock_guard lock(mutex_);
    if (add_fd_failure_ != 0) return sys_failure(add_fd_failure_);
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy) return sys_failure(errno);
    Call* const call = find_waiting(id);
    if (call == nullptr) return sys_failure(ENOENT);
    constexpr int kFirstNumber = 100;
    const int number = kFirstNumber + static_cast<int>(added_.size());
    added_.push_back({.id = id, .number = number, .fd = std::move(copy), .cloexec = cloexec});
    if (answers) {
      call->state = State::kOver;
      call->answer = kernel::Response{.id = id, .value = number};
      changed_.notify_all();
    }
    return number;
  }

  SysResult<void> set_sync_wake_up(bool on) override {
    const std::lock_guard lock(mutex_);
    if (!knows_sync_) return sys_failure(EINVAL);
    sync_ = on;
    return {};
  }

  bool hung_up() override {
    const std::lock_guard lock(mutex_);
    return hung_up_;
  }

 private:
  enum class State : std::uint8_t { kPending, kReceived, kOver };
  struct Call {
    kernel::Notification notification;
    State state = State::kPending;
    std::optional<kernel::Response> answer;
  };

  Call* find_waiting(std::uint64_t id) {
    const auto found = calls_.find(id);
    const bool waits = found != calls_.end() && found->second.state == State::kReceived;
    return waits ? &found->second : nullptr;
  }

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::uint64_t next_id_ = 0x5eed'0000'0001;
  std::map<std::uint64_t, Call> calls_;
  std::deque<std::uint64_t> pending_;
  std::deque<int> receive_failures_;
  std::vector<AddedFd> added_;
  int add_fd_failure_ = 0;
  int interrupts_ = 0;
  bool knows_sync_ = true;
  bool sync_ = false;
  bool hung_up_ = false;
};

}  // namespace sidecall::support
