// A grid program that only runs its cases where it is: for an ABI that sidecall is not built for.
#include <cstdio>
#include <cstring>

#include "grid/run_cases.h"

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  if (argc >= 2 && std::strcmp(argv[1], "run-cases") == 0) {
    const int status = sidecall::grid::run_cases_command(arguments.subspan(2));
    if (status != 2) return status;
  }
  std::fprintf(stderr, "usage: %s run-cases --native|--container SCRATCH [ONLY]\n", argv[0]);
  return 2;
}
