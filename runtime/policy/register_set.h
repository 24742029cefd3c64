// Sets of values of one 64-bit register, in the shapes that a filter can compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "emulators/conditions.h"

namespace sidecall::policy {

// A union of disjoint ranges and disjoint bit patterns. Every condition cuts such a set into two of
// the kind, which is what makes each first-match list expressible, if not always short.
class RegisterSet {
 public:
  [[nodiscard]] static RegisterSet everything();

  [[nodiscard]] bool empty() const { return ranges_.empty() && patterns_.empty(); }
  [[nodiscard]] std::size_t pieces() const { return ranges_.size() + patterns_.size(); }

  struct Parts;
  // The part where the condition holds and the part where it does not; its index is not looked at.
  [[nodiscard]] Parts split(const emulators::Condition& condition) const;
  // Adds a set that is disjoint from this one.
  void unite(const RegisterSet& other);

  // Conditions on register `index`, no two of which hold together, one of which holds exactly for
  // the values of this set, which is not everything(). Without `below` none of them is SCMP_CMP_LT
  // or SCMP_CMP_LE: such a range is then written as bit patterns.
  [[nodiscard]] emulators::Conditions alternatives(std::uint8_t index, bool below) const;

 private:
  struct Range {  // low..high, both included
    std::uint64_t low = 0;
    std::uint64_t high = 0;
  };
  struct Pattern {  // (register & mask) == value
    std::uint64_t mask = 0;
    std::uint64_t value = 0;
  };
  static std::vector<Pattern> patterns_of(Range range);
  static void cut(Range range, Range by, Parts& parts);
  static void cut(Pattern pattern, Pattern by, Parts& parts);
  static void cut(Pattern pattern, Range by, Parts& parts);
  static void merge_ranges(std::vector<Range>& ranges);
  static void merge_patterns(std::vector<Pattern>& patterns);

  void add(Pattern pattern);
  std::vector<Range> ranges_;
  std::vector<Pattern> patterns_;  // none of them is a range
};

struct RegisterSet::Parts {
  RegisterSet inside;
  RegisterSet outside;
};

}  // namespace sidecall::policy
