// Which threads should wait for notifications? Candidates, each under the same loads, in one run,
// taking turns; synchronous wake-up on. Usage: receivers [ROUNDS [MILLISECONDS]]
#include <algorithm>
#include <cstdio>
#include <string>

#include "bench/shape.h"

namespace sidecall::bench {
namespace {

struct Place {
  std::string name;
  std::vector<unsigned> cpus;
  bool pinned;
};

struct Cell {
  const Shape* shape;
  Load load;
  std::vector<double> rates{};

  [[nodiscard]] double median() {
    std::sort(rates.begin(), rates.end());
    return rates[rates.size() / 2];
  }
};

constexpr int kCallers[] = {1, 2, 4};
constexpr int kWork[] = {0, 2, 20};

std::vector<unsigned> usable_cpus() {
  cpu_set_t mask;
  ::sched_getaffinity(0, sizeof mask, &mask);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

void print(std::vector<Cell>& cells) {
  std::printf("%-11s", "");
  for (const int microseconds : kWork) {
    for (const int callers : kCallers) std::printf("  %dx %2d us", callers, microseconds);
  }
  std::printf("\n");
  const Shape* last = nullptr;
  for (Cell& cell : cells) {
    if (cell.shape != last) std::printf("%s%-11s", last ? "\n" : "", cell.shape->name.data());
    last = cell.shape;
    std::printf(" %9.0f", cell.median() / 1000);
  }
  std::printf("\n\n");
}

void compare(const Place& place, int rounds, int milliseconds) {
  std::vector<Cell> cells;
  for (const Shape& shape : shapes()) {
    for (const int microseconds : kWork) {
      for (const int callers : kCallers) {
        cells.push_back({.shape = &shape,
                         .load = {.cpus = place.cpus,
                                  .pinned = place.pinned,
                                  .callers = callers,
                                  .work_us = microseconds}});
      }
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (Cell& cell : cells) {
      cell.rates.push_back(measure(*cell.shape, cell.load, milliseconds));
    }
  }
  std::printf("%s: thousand calls a second, by callers and work in the handler\n",
              place.name.c_str());
  print(cells);
  std::fflush(stdout);
}

int run(int rounds, int milliseconds) {
  calibrate_work();
  for (const Shape& shape : shapes()) {
    std::printf("%-11s %s\n", shape.name.data(), shape.what.data());
  }
  std::printf("\n");
  const auto cpus = usable_cpus();
  compare({.name = "One CPU", .cpus = {cpus.front()}, .pinned = true}, rounds, milliseconds);
  if (cpus.size() == 1) return 0;
  const std::string many = std::to_string(cpus.size()) + " CPUs";
  compare({.name = many + ", callers pinned", .cpus = cpus, .pinned = true}, rounds, milliseconds);
  compare({.name = many, .cpus = cpus, .pinned = false}, rounds, milliseconds);
  return 0;
}

}  // namespace
}  // namespace sidecall::bench

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? sidecall::bench::positive(argv[1]) : 5;
  const int milliseconds = argc > 2 ? sidecall::bench::positive(argv[2]) : 30;
  return sidecall::bench::run(rounds, milliseconds);
}
