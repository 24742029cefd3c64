// Three transcripts against each other: whether the emulator does what it is for.
#pragma once

#include <string>
#include <string_view>

#include "grid/transcript.h"

namespace sidecall::grid {

struct Transcripts {
  Transcript native;
  Transcript off;
  Transcript on;
};

struct Judgement {
  bool good = false;
  std::string text;  // a line for each fault and each skip, then the counts in one line
};

// Good where every case that applies holds natively and, if it is no declared limit, on; does off
// what it declares; at least one fails off and holds on; and no transcript lacks a case. What is
// skipped in one place is not asked in another.
[[nodiscard]] Judgement judge(std::string_view name, const Transcripts& transcripts);

// "41/41", or "38/38 (3 n/a)": the cases that held, of those that were tried.
[[nodiscard]] std::string counts(const Transcript& transcript);

}  // namespace sidecall::grid
