// Runs cases where we are, one process each.
#pragma once

#include <string>
#include <string_view>

#include "grid/case.h"
#include "grid/transcript.h"

namespace sidecall::grid {

// What begins a line that Checks leave behind.
inline constexpr char kFailedRecord = 'f';
inline constexpr char kSkippedRecord = 's';
inline constexpr char kBrokenRecord = 'b';

// One case, in a new directory below `scratch`, which goes again.
[[nodiscard]] CaseResult run_case(const Case& one, Place place, const std::string& scratch);

// The mode `run-cases` of every grid program: prints the transcript of the cases whose title
// and name have `only` in them, on standard output. Gives the exit status, which speaks of trouble,
// not of outcomes.
[[nodiscard]] int run_cases(const Grid& grid, Place place, const std::string& scratch,
                            std::string_view only);

// run-cases --native|--container SCRATCH [ONLY]; 2 where the arguments are others.
[[nodiscard]] int run_cases_command(std::span<char* const> arguments);

}  // namespace sidecall::grid
