#include "cli/sandbox_table.h"

#include <fmt/format.h>

#include "cli/statistics_table.h"
#include "cli/table.h"

namespace sidecall::cli {
namespace {

std::string_view state_name(v1::Sandbox::State state) {
  switch (state) {
    case v1::Sandbox::STATE_EXPECTED:
      return "expected";
    case v1::Sandbox::STATE_SERVING:
      return "serving";
    case v1::Sandbox::STATE_ENDING:
      return "ending";
    default:
      return "?";
  }
}

std::string age(std::int64_t since_unix_ms, std::chrono::system_clock::time_point now) {
  const auto then = std::chrono::system_clock::time_point(std::chrono::milliseconds(since_unix_ms));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
  if (seconds < 0) return "0s";
  if (seconds < 120) return fmt::format("{}s", seconds);
  const auto minutes = seconds / 60;
  if (minutes < 120) return fmt::format("{}m", minutes);
  const auto hours = minutes / 60;
  return hours < 48 ? fmt::format("{}h", hours) : fmt::format("{}d", hours / 24);
}

}  // namespace

std::string_view sync_name(v1::SyncWakeUp sync) {
  switch (sync) {
    case v1::SYNC_WAKE_UP_ON:
      return "on";
    case v1::SYNC_WAKE_UP_OFF:
      return "off";
    case v1::SYNC_WAKE_UP_UNAVAILABLE:
      return "none";
    default:
      return "?";
  }
}

std::string sandbox_table(const v1::ListSandboxesResponse& sandboxes,
                          std::chrono::system_clock::time_point now) {
  using enum Column::Align;
  Table table({{"ID", kLeft, true},
               {"STATE", kLeft},
               {"POLICY", kLeft, true},
               {"PID", kRight},
               {"WORKER", kRight},
               {"CPUS", kLeft, true},
               {"SYNC", kLeft},
               {"LISTENERS", kRight},
               {"AGE", kRight}});
  for (const v1::Sandbox& sandbox : sandboxes.sandboxes()) {
    table.add_row({sandbox.id(), std::string(state_name(sandbox.state())), sandbox.policy(),
                   std::to_string(sandbox.pid()), std::to_string(sandbox.worker_pid()),
                   sandbox.cpus(), std::string(sync_name(sandbox.sync_wake_up())),
                   std::to_string(sandbox.listeners()), age(sandbox.since_unix_ms(), now)});
  }
  return table.render();
}

std::string sandbox_report(const v1::Sandbox& sandbox) {
  std::string report =
      fmt::format("{}: policy {}, CPUs {}, sync wake-up {}, {}\n", sandbox.id(), sandbox.policy(),
                  sandbox.cpus(), sync_name(sandbox.sync_wake_up()), state_name(sandbox.state()));
  const auto add_count = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) report += fmt::format("  {} {}\n", count, what);
  };
  add_count(sandbox.worker_restarts(), "times its worker died and was replaced");
  add_count(sandbox.stale_calls(), "calls whose caller was gone before the answer");
  add_count(sandbox.unrouted_calls(), "calls notified that the policy does not name");
  std::vector<SyscallFigures> figures;
  for (const v1::SyscallStatistics& syscall : sandbox.syscalls()) {
    figures.push_back({.name = syscall.name(),
                       .abi = syscall.abi(),
                       .calls = syscall.calls(),
                       .continued = syscall.continued(),
                       .errnos = syscall.errnos(),
                       .values = syscall.values(),
                       .descriptors = syscall.descriptors(),
                       .gone = syscall.gone(),
                       .failures = syscall.failures(),
                       .p50_ns = syscall.latency_p50_ns(),
                       .p99_ns = syscall.latency_p99_ns()});
  }
  return report + statistics_table(figures);
}

}  // namespace sidecall::cli
