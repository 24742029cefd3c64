#include "cli/top_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "cli/json_writer.h"
#include "cli/sandbox_table.h"
#include "cli/statistics_table.h"

namespace sidecall::cli {
namespace {

// Two sandboxes of one id have been seen at different times.
using CallKey = std::tuple<std::string, std::int64_t, std::string, std::string>;

CallKey key_of(const v1::Sandbox& sandbox, const v1::SyscallStatistics& call) {
  return {sandbox.id(), sandbox.since_unix_ms(), call.name(), call.abi()};
}

TopCall difference(const v1::SyscallStatistics& after, const v1::SyscallStatistics* before) {
  static const v1::SyscallStatistics kNothing;
  if (before == nullptr || before->calls() > after.calls()) before = &kNothing;
  return {.name = after.name(),
          .abi = after.abi(),
          .calls = after.calls() - before->calls(),
          .done = after.values() + after.descriptors() - before->values() - before->descriptors(),
          .errnos = after.errnos() - before->errnos(),
          .continued = after.continued() - before->continued(),
          .p50_ns = after.latency_p50_ns(),
          .p99_ns = after.latency_p99_ns()};
}

// "12", "3.4k", "1.2M".
std::string short_rate(double rate) {
  if (rate >= 999'500) return fmt::format("{:.1f}M", rate / 1e6);
  if (rate >= 9'995) return fmt::format("{:.1f}k", rate / 1e3);
  return fmt::format("{:.0f}", rate);
}

std::string per_cent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.0f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

std::uint64_t TopSandbox::total() const {
  return std::accumulate(calls.begin(), calls.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const TopCall& call) { return sum + call.calls; });
}

Top top_between(const v1::GetStatisticsResponse& before, const v1::GetStatisticsResponse& after,
                double seconds) {
  std::map<CallKey, const v1::SyscallStatistics*> old;
  for (const v1::Sandbox& sandbox : before.sandboxes()) {
    for (const v1::SyscallStatistics& call : sandbox.syscalls()) old[key_of(sandbox, call)] = &call;
  }
  Top top{.seconds = seconds, .sandboxes = {}};
  for (const v1::Sandbox& sandbox : after.sandboxes()) {
    TopSandbox row{.id = sandbox.id(),
                   .policy = sandbox.policy(),
                   .cpus = sandbox.cpus(),
                   .sync = std::string(sync_name(sandbox.sync_wake_up())),
                   .worker_pid = sandbox.worker_pid(),
                   .calls = {}};
    for (const v1::SyscallStatistics& call : sandbox.syscalls()) {
      if (call.calls() == 0) continue;
      const auto found = old.find(key_of(sandbox, call));
      row.calls.push_back(difference(call, found != old.end() ? found->second : nullptr));
    }
    std::stable_sort(row.calls.begin(), row.calls.end(),
                     [](const TopCall& a, const TopCall& b) { return a.calls > b.calls; });
    top.sandboxes.push_back(std::move(row));
  }
  std::stable_sort(top.sandboxes.begin(), top.sandboxes.end(),
                   [](const TopSandbox& a, const TopSandbox& b) { return a.total() > b.total(); });
  return top;
}

std::string top_table(const Top& top, std::size_t lines, std::size_t width) {
  using enum Column::Align;
  Table table({{"SANDBOX", kLeft, true},
               {"CPUS", kLeft, true},
               {"SYNC", kLeft},
               {"SYSCALL", kLeft, true},
               {"CALLS/S", kRight},
               {"DONE", kRight},
               {"ERRNO", kRight},
               {"CONT", kRight},
               {"P50", kRight},
               {"P99", kRight}});
  std::size_t left = lines;
  for (const TopSandbox& sandbox : top.sandboxes) {
    if (sandbox.calls.empty() && left > 0) {
      table.add_row({sandbox.id, sandbox.cpus, sandbox.sync, "-", "0", "-", "-", "-", "-", "-"});
      --left;
    }
    bool is_first = true;
    for (const TopCall& call : sandbox.calls) {
      if (left == 0) break;
      --left;
      const bool named = std::exchange(is_first, false);
      table.add_row({named ? sandbox.id : "", named ? sandbox.cpus : "", named ? sandbox.sync : "",
                     call.abi == "i386" ? call.name + "/i386" : call.name,
                     short_rate(static_cast<double>(call.calls) / top.seconds),
                     per_cent(call.done, call.calls), per_cent(call.errnos, call.calls),
                     per_cent(call.continued, call.calls), short_duration(call.p50_ns),
                     short_duration(call.p99_ns)});
    }
  }
  return table.render(width);
}

std::string top_json(const Top& top) {
  JsonWriter json;
  const auto rate = [&](std::string_view name, std::uint64_t count) {
    json.key(name);
    json.number(static_cast<double>(count) / top.seconds);
  };
  const auto text = [&](std::string_view name, std::string_view value) {
    json.key(name);
    json.string(value);
  };
  json.open_object();
  json.key("seconds");
  json.number(top.seconds);
  json.key("sandboxes");
  json.open_array();
  for (const TopSandbox& sandbox : top.sandboxes) {
    json.open_object();
    text("id", sandbox.id);
    text("policy", sandbox.policy);
    text("cpus", sandbox.cpus);
    text("sync", sandbox.sync);
    json.key("worker_pid");
    json.number(sandbox.worker_pid);
    rate("calls_per_second", sandbox.total());
    json.key("syscalls");
    json.open_array();
    for (const TopCall& call : sandbox.calls) {
      json.open_object();
      text("name", call.name);
      text("abi", call.abi);
      rate("calls_per_second", call.calls);
      rate("done_per_second", call.done);
      rate("errnos_per_second", call.errnos);
      rate("continued_per_second", call.continued);
      json.key("p50_ns");
      json.number(static_cast<double>(call.p50_ns));
      json.key("p99_ns");
      json.number(static_cast<double>(call.p99_ns));
      json.close();
    }
    json.close();
    json.close();
  }
  json.close();
  json.close();
  return json.take();
}

}  // namespace sidecall::cli
