// What a seccomp filter does with one system call, as a list of rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "emulators/conditions.h"

namespace sidecall::policy {

struct FilterAction {
  std::string name;        // SCMP_ACT_*
  std::uint32_t data = 0;  // SCMP_ACT_ERRNO, SCMP_ACT_TRACE: the errno
  friend bool operator==(const FilterAction&, const FilterAction&) = default;
};

struct FilterRule {
  emulators::Conditions when;
  FilterAction action;
  friend bool operator==(const FilterRule&, const FilterRule&) = default;
};

// Turns a list of which the first match wins, and whose last rule has no conditions, into rules of
// which at most one matches any call, each with at most one condition per register, conditions in
// the order of the registers: the form in which runtimes and libseccomp leave nothing to
// interpretation. (Both read two conditions on one register as alternatives, and among several
// matching rules the order of libseccomp's own tree decides.) Rules whose action is `unwritten` are
// left out.
//
// Every condition holds on a 32-bit architecture exactly where it does on the zero-extended
// register, although libseccomp cuts the values to 32 bits there. What would need more than 128
// rules, a value beyond 32 bits, or what libseccomp builds wrongly, is an error that says so.
[[nodiscard]] Result<std::vector<FilterRule>> make_disjoint(std::span<const FilterRule> rules,
                                                            const FilterAction& unwritten);

}  // namespace sidecall::policy
