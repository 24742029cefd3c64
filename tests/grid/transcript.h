// What came of each case in one place, and its text: what a run inside a container hands out. It
// says of each case what is wanted with sidecall off, so that transcripts alone tell good from bad.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grid/case.h"

namespace sidecall::grid {

enum class Outcome : std::uint8_t {
  kHeld,
  kFailed,         // a check did not hold
  kSkipped,        // the machine lacks something
  kBroken,         // the case could not be arranged, crashed or hung: never what was meant
  kNotApplicable,  // declared so
};

[[nodiscard]] std::string_view outcome_name(Outcome outcome);

struct CaseResult {
  Outcome outcome{};
  Off off{};
  std::string name;
  std::string detail{};  // why, in one line
};

using Transcript = std::vector<CaseResult>;

// One line for each case: outcome, declaration, name and detail, with tabs between.
[[nodiscard]] std::string to_text(const CaseResult& result);
// Empty where a line is of another form.
[[nodiscard]] std::optional<Transcript> parse_transcript(std::string_view text);

}  // namespace sidecall::grid
