// What libseccomp makes of several rules for one system call.
//
// It keeps them as a tree: a list of comparisons of the first register that any rule compares,
// below each the comparisons of the next. Three things go wrong there in the releases that runtimes
// link (read in and seen with 2.5.4), with a wrong answer or an endless loop in the runtime as the
// result:
// - A rule that belongs before others which share their first comparisons with it makes a list end
//   in itself. Hence an order for the rules.
// - Where a comparison holds and what is below it does not match, the next comparison in the list
// is
//   made with whatever register was loaded last. Hence no such fall but from the end of a list.
// - "Below x" is "not (x or above)", which falls to the next comparison with half the register.
//   Hence "below" only where nothing else is asked of the register.
#pragma once

#include <span>
#include <vector>

#include "emulators/conditions.h"
#include "policy/filter_rule.h"

namespace sidecall::policy {

// Whether the conditions, all on one register, are one comparison of it, or it and its opposite.
[[nodiscard]] bool is_one_question(const emulators::Conditions& conditions);

// All three take rules as make_disjoint() makes them.
void put_in_libseccomp_order(std::vector<FilterRule>& rules);
[[nodiscard]] bool libseccomp_builds_right(std::span<const FilterRule> ordered);

}  // namespace sidecall::policy
