// How should a call be answered with a descriptor? ADDFD with FLAG_SEND answers in one ioctl, but
// wakes the caller by a plain completion, which has no synchronous form; ADDFD and then SEND takes
// two and wakes it on this CPU. Usage: descriptors [ROUNDS [MILLISECONDS]]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "bench/notification.h"
#include "bench/shape.h"

namespace sidecall::bench {
namespace {

// Gives a descriptor of /dev/null. Returns its number in the caller, or -1.
long add(int listener, std::uint64_t id, int source, unsigned flags) {
  seccomp_notif_addfd request{.id = id,
                              .flags = flags,
                              .srcfd = static_cast<__u32>(source),
                              .newfd = 0,
                              .newfd_flags = O_CLOEXEC};
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &request);
}

void serve(const Service& service, auto&& reply) {
  const int source = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  Received got;
  while (!service.stop) {
    if (receive(service.listener, got) == 0) reply(got.notification.id, source);
  }
}

void in_one(const Service& service) {
  serve(service, [&](std::uint64_t id, int source) {
    add(service.listener, id, source, SECCOMP_ADDFD_FLAG_SEND);
  });
}

void in_two(const Service& service) {
  serve(service, [&](std::uint64_t id, int source) {
    answer(service.listener, id, add(service.listener, id, source, 0));
  });
}

struct Row {
  const char* name;
  Load load;
  std::vector<double> one{};
  std::vector<double> two{};
};

double median_us(std::vector<double>& rates) {
  std::sort(rates.begin(), rates.end());
  return 1e6 / rates[rates.size() / 2];
}

int run(int rounds, int milliseconds) {
  const std::vector<unsigned> first = {0};
  const std::vector<unsigned> both = {0, 1};
  const std::vector<unsigned> second = {1};
  std::vector<Row> rows;
  for (const bool sync : {true, false}) {
    const auto load = [sync](const auto& cpus, const auto& caller_cpus) {
      return Load{.cpus = cpus, .caller_cpus = caller_cpus, .sync = sync, .descriptors = true};
    };
    rows.push_back({sync ? "one CPU, sync" : "one CPU, no sync", load(first, first)});
    rows.push_back({sync ? "two CPUs, sync" : "two CPUs, no sync", load(both, both)});
    rows.push_back({sync ? "caller pinned, sync" : "caller pinned, no sync", load(both, first)});
    rows.push_back({sync ? "apart, sync" : "apart, no sync", load(second, first)});
  }
  const Shape one{.name = "one", .what = "", .serve = in_one};
  const Shape two{.name = "two", .what = "", .serve = in_two};
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows) {
      row.one.push_back(measure(one, row.load, milliseconds));
      row.two.push_back(measure(two, row.load, milliseconds));
    }
  }
  std::printf("%-24s %16s %16s   us a call and its close, medians\n", "", "ADDFD FLAG_SEND",
              "ADDFD, SEND");
  for (Row& row : rows) {
    std::printf("%-24s %16.2f %16.2f\n", row.name, median_us(row.one), median_us(row.two));
  }
  return 0;
}

}  // namespace
}  // namespace sidecall::bench

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? sidecall::bench::positive(argv[1]) : 9;
  const int milliseconds = argc > 2 ? sidecall::bench::positive(argv[2]) : 30;
  return sidecall::bench::run(rounds, milliseconds);
}
