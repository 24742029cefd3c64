// One thread in RECV, which may run on every CPU, so that each caller finds it where it is. Every
// other is parked. Where different threads call in turn and some of their calls had to wait, each
// thread is pinned to a CPU of its own and all are in RECV, until one caller is left.
//
// What tells the two apart is free: a notification names its thread. Only where that changes is
// the listener asked, by poll, whether another call waits.
#include "bench/elastic.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "bench/notification.h"

namespace sidecall::bench {
namespace {

constexpr unsigned kWindow = 256;   // calls of the first thread between two decisions
constexpr unsigned kBusy = 16;      // of them, those that found another call waiting
constexpr unsigned kIdleShare = 8;  // the others are parked where they served less than one in 8

struct alignas(64) Helper {
  std::atomic<std::uint64_t> served{0};
  std::atomic<bool> is_parked{true};
  pid_t tid = 0;
};

class Elastic {
 public:
  explicit Elastic(const Service& service) : service_(service), helpers_(service.load.cpus.size()) {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &nothing, nullptr);  // without SA_RESTART: RECV gives EINTR
    for (unsigned index = 1; index < helpers_.size(); ++index) {
      std::thread([this, index] { help(index); }).detach();
    }
  }

  void run() {
    Received got;
    while (!service_.stop) {
      if (receive(service_.listener, got) != 0) continue;
      if (got.notification.pid != last_caller_) note_change(got.notification.pid);
      work(service_.load.work_us);
      answer(service_.listener, got.notification.id, 1);
      if (++calls_ == kWindow) decide();
    }
  }

 private:
  void note_change(unsigned caller) {
    last_caller_ = caller;
    if (!is_grown_ && helpers_.size() > 1 && is_pending(service_.listener)) ++waiting_;
  }

  void decide() {
    if (!is_grown_ && waiting_ >= kBusy) {
      grow();
    } else if (is_grown_) {
      const auto served = served_by_helpers();
      if (served - served_before_ < kWindow / kIdleShare) shrink();
      served_before_ = served;
    }
    calls_ = 0;
    waiting_ = 0;
  }

  void grow() {
    is_grown_ = true;
    served_before_ = served_by_helpers();
    place({service_.load.cpus[0]});
    wanted_ = true;
    wanted_.notify_all();
  }

  void shrink() {
    is_grown_ = false;
    wanted_ = false;
    for (const Helper& helper : helpers_) {
      if (!helper.is_parked) ::syscall(SYS_tgkill, ::getpid(), helper.tid, SIGUSR1);
    }
    place(service_.load.cpus);
  }

  static void place(const std::vector<unsigned>& cpus) {
    const cpu_set_t mask = mask_of(cpus);
    ::sched_setaffinity(0, sizeof mask, &mask);
  }

  [[nodiscard]] std::uint64_t served_by_helpers() const {
    std::uint64_t served = 0;
    for (const Helper& helper : helpers_) served += helper.served.load(std::memory_order_relaxed);
    return served;
  }

  void help(unsigned index) {
    Helper& self = helpers_[index];
    self.tid = ::gettid();
    place({service_.load.cpus[index]});
    Received got;
    for (;;) {
      self.is_parked = true;
      wanted_.wait(false);
      self.is_parked = false;
      while (wanted_) {
        if (receive(service_.listener, got) != 0) continue;
        work(service_.load.work_us);
        answer(service_.listener, got.notification.id, 1);
        self.served.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }

  const Service& service_;
  std::vector<Helper> helpers_;  // that of index 0 stands for the first thread
  std::atomic<bool> wanted_{false};
  bool is_grown_ = false;
  unsigned last_caller_ = 0;
  unsigned calls_ = 0;
  unsigned waiting_ = 0;
  std::uint64_t served_before_ = 0;
};

}  // namespace

void elastic(const Service& service) {
  Elastic(service).run();
}

}  // namespace sidecall::bench
