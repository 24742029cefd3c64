// The candidates. Each serves with as many threads as the supervisor has CPUs, unless it says so.
#include <sys/epoll.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "bench/elastic.h"
#include "bench/notification.h"
#include "bench/shape.h"

namespace sidecall::bench {
namespace {

std::uint64_t iterations_per_us = 1;

void spin(std::uint64_t iterations) {
  for (std::uint64_t done = 0; done < iterations; ++done) asm volatile("" ::: "memory");
}

void pin(unsigned cpu) {
  const cpu_set_t mask = mask_of({cpu});
  ::sched_setaffinity(0, sizeof mask, &mask);
}

void finish(const Service& service, const Received& got) {
  work(service.load.work_us);
  answer(service.listener, got.notification.id, 1);
}

void loop(const Service& service) {
  Received got;
  while (!service.stop) {
    if (receive(service.listener, got) == 0) finish(service, got);
  }
}

// Runs `body(index)` on a thread for each CPU, the first on this one.
void on_threads(const Service& service, auto&& body) {
  std::vector<std::thread> threads;
  for (unsigned index = 1; index < service.load.cpus.size(); ++index) {
    threads.emplace_back([&, index] { body(index); });
  }
  body(0U);
  for (auto& thread : threads) thread.join();
}

void one(const Service& service) {
  loop(service);
}

void herd(const Service& service) {
  on_threads(service, [&](unsigned) { loop(service); });
}

void pinned(const Service& service) {
  on_threads(service, [&](unsigned index) {
    pin(service.load.cpus[index]);
    loop(service);
  });
}

// One thread at a time is in RECV; it lets the next one in before it handles what it got.
void leader(const Service& service) {
  std::mutex baton;
  on_threads(service, [&](unsigned) {
    Received got;
    while (!service.stop) {
      baton.lock();
      const int error = receive(service.listener, got);
      baton.unlock();
      if (error == 0) finish(service, got);
    }
  });
}

// The same, but the next one is let in only where another call already waits.
void leader_if_pending(const Service& service) {
  std::mutex baton;
  on_threads(service, [&](unsigned) {
    Received got;
    while (!service.stop) {
      baton.lock();
      while (receive(service.listener, got) != 0 || !is_pending(service.listener)) {
        finish(service, got);
      }
      baton.unlock();
      finish(service, got);
    }
  });
}

// Waits in an epoll instance of its own. Where another was faster after all, this thread is one
// more that blocks in RECV.
void epoll_loop(const Service& service, unsigned index) {
  pin(service.load.cpus[index]);
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN | EPOLLEXCLUSIVE, .data = {}};
  ::epoll_ctl(set, EPOLL_CTL_ADD, service.listener, &wanted);
  Received got;
  while (!service.stop) {
    epoll_event ready{};
    if (::epoll_wait(set, &ready, 1, -1) == 1 && is_pending(service.listener) &&
        receive(service.listener, got) == 0) {
      finish(service, got);
    }
  }
}

void epoll(const Service& service) {
  on_threads(service, [&](unsigned index) { epoll_loop(service, index); });
}

// The first is in RECV; the others wait in epoll, exclusively.
void epoll_extras(const Service& service) {
  on_threads(service,
             [&](unsigned index) { index == 0 ? loop(service) : epoll_loop(service, index); });
}

}  // namespace

void work(int microseconds) {
  spin(static_cast<std::uint64_t>(microseconds) * iterations_per_us);
}

void calibrate_work() {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kIterations = 20'000'000;
  const auto begun = Clock::now();
  spin(kIterations);
  const std::chrono::duration<double, std::micro> took = Clock::now() - begun;
  iterations_per_us = static_cast<std::uint64_t>(static_cast<double>(kIterations) / took.count());
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {
      {"one", "one thread in RECV", one},
      {"herd", "a thread for each CPU in RECV", herd},
      {"pinned", "the same, each pinned to its CPU", pinned},
      {"leader", "one in RECV, the next let in before each is handled", leader},
      {"leader-if", "the same, only where another call waits already", leader_if_pending},
      {"epoll", "a pinned thread for each CPU in epoll, exclusive", epoll},
      {"recv+epoll", "one in RECV, the others in epoll, exclusive and pinned", epoll_extras},
      {"elastic", "one in RECV; while calls wait for it, a pinned one for each CPU", elastic},
  };
  return kShapes;
}

}  // namespace sidecall::bench
