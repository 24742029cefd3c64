#include "grid/transcript.h"

#include <algorithm>
#include <array>

namespace sidecall::grid {
namespace {

// In the order of Outcome.
constexpr std::array<std::string_view, 5> kNames = {"held", "failed", "skipped", "broken", "n/a"};

// In the order of Off.
constexpr std::array<std::string_view, 3> kDeclarations = {"fails-off", "holds-off", "limit"};

// The text before the next tab, which goes; empty where there is none.
std::optional<std::string_view> take_field(std::string_view& line) {
  const auto end = line.find('\t');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(end + 1);
  return field;
}

template <typename Enum, std::size_t kCount>
std::optional<Enum> take_name(std::string_view& line,
                              const std::array<std::string_view, kCount>& names) {
  const auto field = take_field(line);
  if (!field) return std::nullopt;
  const auto* const found = std::find(names.begin(), names.end(), *field);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

std::optional<CaseResult> parse_line(std::string_view line) {
  const auto outcome = take_name<Outcome>(line, kNames);
  const auto off = take_name<Off>(line, kDeclarations);
  const auto name = take_field(line);
  if (!outcome || !off || !name) return std::nullopt;
  return CaseResult{
      .outcome = *outcome, .off = *off, .name = std::string(*name), .detail = std::string(line)};
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  return kNames.at(static_cast<std::size_t>(outcome));
}

std::string to_text(const CaseResult& result) {
  std::string text(outcome_name(result.outcome));
  text += '\t';
  text += kDeclarations.at(static_cast<std::size_t>(result.off));
  return text + '\t' + result.name + '\t' + result.detail + '\n';
}

std::optional<Transcript> parse_transcript(std::string_view text) {
  Transcript transcript;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    auto result = parse_line(text.substr(0, end));
    if (!result) return std::nullopt;
    transcript.push_back(*std::move(result));
    text.remove_prefix(end + 1);
  }
  return transcript;
}

}  // namespace sidecall::grid
