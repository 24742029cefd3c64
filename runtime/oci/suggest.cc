#include "oci/suggest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace sidecall::oci {
namespace {

constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kMostEdits = 2;

// Insertions, deletions and replacements from one word to the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > kLongestWord) return "";
  // Two edits turn any two-letter word into any other: a short word must be nearer.
  std::size_t nearest = std::min(kMostEdits, word.size() / 2) + 1;
  std::string_view best;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= nearest) continue;
    nearest = distance;
    best = candidate;
  }
  return best.empty() ? "" : " (did you mean \"" + std::string(best) + "\"?)";
}

}  // namespace sidecall::oci
