#include "grid/judge.h"

#include <algorithm>
#include <array>

namespace sidecall::grid {
namespace {

std::size_t count(const Transcript& transcript, Outcome outcome) {
  return static_cast<std::size_t>(
      std::count_if(transcript.begin(), transcript.end(),
                    [&](const CaseResult& result) { return result.outcome == outcome; }));
}

bool same_cases(const Transcript& one, const Transcript& other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(),
      [](const CaseResult& a, const CaseResult& b) { return a.name == b.name && a.off == b.off; });
}

std::size_t count_limits(const Transcript& transcript) {
  return static_cast<std::size_t>(
      std::count_if(transcript.begin(), transcript.end(),
                    [](const CaseResult& result) { return result.off == Off::kLimit; }));
}

std::string line(std::string_view place, const CaseResult& result) {
  std::string text = std::string(place) + ": " + result.name + ": ";
  text += outcome_name(result.outcome);
  return text + (result.detail.empty() ? "" : ": ") + result.detail + "\n";
}

// One case in its three places.
class CaseJudge {
 public:
  CaseJudge(const CaseResult& native, const CaseResult& off, const CaseResult& on)
      : results_({&native, &off, &on}) {}

  [[nodiscard]] bool skipped() const {
    return std::any_of(results_.begin(), results_.end(), [](const CaseResult* result) {
      return result->outcome == Outcome::kSkipped;
    });
  }
  [[nodiscard]] bool shows_the_emulator() const {
    return off().outcome == Outcome::kFailed && on().outcome == Outcome::kHeld;
  }
  [[nodiscard]] std::string skips() const {
    return lines([](const CaseResult& result) { return result.outcome == Outcome::kSkipped; });
  }
  [[nodiscard]] std::string faults() const {
    return lines([this](const CaseResult& result) { return !is_wanted(result); });
  }

 private:
  [[nodiscard]] bool is_wanted(const CaseResult& result) const {
    const bool held = result.outcome == Outcome::kHeld;
    const bool failed = result.outcome == Outcome::kFailed;
    if (result.outcome == Outcome::kNotApplicable) return true;
    if (result.off == Off::kLimit && &result == &off()) return held || failed;
    if (result.off == Off::kLimit && &result == &on()) return failed;
    return result.off == Off::kFails && &result == &off() ? failed : held;
  }
  [[nodiscard]] const CaseResult& off() const { return *results_[1]; }
  [[nodiscard]] const CaseResult& on() const { return *results_[2]; }
  template <typename Choose>
  [[nodiscard]] std::string lines(Choose choose) const {
    static constexpr std::array<std::string_view, 3> kPlaces = {"native", "off", "on"};
    std::string text;
    for (std::size_t place = 0; place < kPlaces.size(); ++place) {
      if (choose(*results_[place])) text += line(kPlaces[place], *results_[place]);
    }
    return text;
  }
  std::array<const CaseResult*, 3> results_;
};

}  // namespace

std::string counts(const Transcript& transcript) {
  const std::size_t not_applicable = count(transcript, Outcome::kNotApplicable);
  const std::size_t tried =
      transcript.size() - not_applicable - count(transcript, Outcome::kSkipped);
  std::string text =
      std::to_string(count(transcript, Outcome::kHeld)) + "/" + std::to_string(tried);
  if (not_applicable != 0) text += " (" + std::to_string(not_applicable) + " n/a)";
  return text;
}

Judgement judge(std::string_view name, const Transcripts& transcripts) {
  const auto& [native, off, on] = transcripts;
  Judgement judgement{.good = true, .text = {}};
  std::size_t skipped = 0;
  std::size_t shown = 0;
  if (same_cases(native, off) && same_cases(native, on)) {
    for (std::size_t index = 0; index < native.size(); ++index) {
      const CaseJudge one(native[index], off[index], on[index]);
      if (one.skipped()) {
        ++skipped;
        judgement.text += one.skips();
        continue;
      }
      if (one.shows_the_emulator()) ++shown;
      const std::string faults = one.faults();
      judgement.good &= faults.empty();
      judgement.text += faults;
    }
  } else {
    judgement.good = false;
    judgement.text += "a run ended before its last case\n";
  }
  if (shown == 0) {
    judgement.good = false;
    judgement.text += "no case fails with the emulator off and holds with it on\n";
  }
  judgement.text += std::string(name) + ": native " + counts(native) + ", off " + counts(off) +
                    ", on " + counts(on) + ", skipped " + std::to_string(skipped);
  if (const auto limits = count_limits(on); limits != 0) {
    judgement.text += ", limits " + std::to_string(limits);
  }
  judgement.text += "\n";
  return judgement;
}

}  // namespace sidecall::grid
