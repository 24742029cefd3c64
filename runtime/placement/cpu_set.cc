#include "placement/cpu_set.h"

#include <charconv>

namespace sidecall::placement {
namespace {

tl::unexpected<Error> not_a_list(std::string_view list) {
  return failure("\"" + std::string(list.substr(0, 64)) + "\" is not a list of CPUs such as 0-3,8");
}

}  // namespace

Result<CpuSet> CpuSet::parse(std::string_view list) {
  CpuSet set;
  const auto blank = " \t\n";
  const auto first = list.find_first_not_of(blank);
  if (first == std::string_view::npos) return set;
  const auto text = list.substr(first, list.find_last_not_of(blank) - first + 1);
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    unsigned from = 0;
    auto parsed = std::from_chars(at, end, from);
    if (parsed.ec != std::errc()) return not_a_list(text);
    unsigned to = from;
    if (parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, to);
      if (parsed.ec != std::errc()) return not_a_list(text);
    }
    if (from > to || to >= CPU_SETSIZE) return not_a_list(text);
    for (unsigned cpu = from; cpu <= to; ++cpu) CPU_SET(cpu, &set.mask_);
    if (parsed.ptr == end) return set;
    if (*parsed.ptr != ',') return not_a_list(text);
    at = parsed.ptr + 1;
  }
}

CpuSet CpuSet::of(unsigned cpu) {
  CpuSet set;
  CPU_SET(cpu, &set.mask_);
  return set;
}

CpuSet CpuSet::intersection(const CpuSet& other) const {
  CpuSet both;
  CPU_AND(&both.mask_, &mask_, &other.mask_);
  return both;
}

std::string CpuSet::list() const {
  std::string text;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask_)) continue;
    unsigned last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &mask_)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpu);
    if (last > cpu) text += '-' + std::to_string(last);
    cpu = last;
  }
  return text;
}

}  // namespace sidecall::placement
