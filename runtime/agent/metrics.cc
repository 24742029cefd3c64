#include "agent/metrics.h"

#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "agent/figures.h"

namespace sidecall::agent {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Label = ClientMetric::Label;
using Labels = std::vector<Label>;

// In the order of emulators::VerdictKind.
constexpr std::array<const char*, emulators::kVerdictKinds> kVerdicts = {
    "continued", "errno", "value", "descriptor", "gone"};

Labels call_labels(const Figures::Call& call) {
  return {{"syscall", call.first}, {"abi", call.second}};
}

Labels with(Labels labels, const char* name, std::string value) {
  labels.push_back({name, std::move(value)});
  return labels;
}

ClientMetric counter(Labels labels, std::uint64_t value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = static_cast<double>(value);
  return metric;
}

ClientMetric gauge(Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

MetricFamily one_counter(const char* name, const char* help, std::uint64_t value) {
  return {name, help, MetricType::Counter, {counter({}, value)}};
}

MetricFamily one_gauge(const char* name, const char* help, double value) {
  return {name, help, MetricType::Gauge, {gauge({}, value)}};
}

void add_verdicts(const Labels& labels, const CallFigures& figures, MetricFamily& family) {
  for (std::size_t kind = 0; kind < kVerdicts.size(); ++kind) {
    if (figures.verdicts[kind] == 0) continue;
    family.metric.push_back(
        counter(with(labels, "verdict", kVerdicts[kind]), figures.verdicts[kind]));
  }
}

ClientMetric histogram(Labels labels, const CallFigures& figures) {
  ClientMetric metric;
  metric.label = std::move(labels);
  std::uint64_t cumulative = 0;
  for (std::size_t bucket = 0; bucket < figures.latencies.size(); ++bucket) {
    cumulative += figures.latencies[bucket];
    const auto power = static_cast<int>(bucket + CallFigures::kFirstEdge);
    const double edge = bucket < CallFigures::kEdges ? std::ldexp(1.0, power) / 1e9
                                                     : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({cumulative, edge});
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = static_cast<double>(figures.latency_sum_ns) * 1e-9;
  return metric;
}

void describe_calls(const Figures& sum, std::vector<MetricFamily>& families) {
  MetricFamily calls{"sidecall_calls_total", "System calls answered.", MetricType::Counter, {}};
  MetricFamily failures{"sidecall_call_failures_total",
                        "Failures of sidecall's own, answered with EIO.",
                        MetricType::Counter,
                        {}};
  MetricFamily durations{"sidecall_call_duration_seconds",
                         "From a call's receipt to its answer. Of calls that never sleep one in 16 "
                         "is timed; the sum is exact to a sixteenth.",
                         MetricType::Histogram,
                         {}};
  for (const auto& [call, figures] : sum.calls) {
    add_verdicts(call_labels(call), figures, calls);
    failures.metric.push_back(counter(call_labels(call), figures.failures));
    durations.metric.push_back(histogram(call_labels(call), figures));
  }
  families.push_back(std::move(calls));
  families.push_back(std::move(failures));
  families.push_back(std::move(durations));
  families.push_back(one_counter("sidecall_stale_calls_total",
                                 "Calls whose caller was gone before the answer.", sum.stale));
  families.push_back(one_counter("sidecall_unrouted_calls_total",
                                 "Calls that were notified but that the policy does not name.",
                                 sum.unrouted));
  families.push_back(one_counter("sidecall_poisonous_calls_total",
                                 "Calls answered with EIO because workers died of them.",
                                 sum.poisonous));
  families.push_back(one_counter("sidecall_refused_calls_total",
                                 "Calls beyond their policy's limits, answered with EAGAIN.",
                                 sum.refused));
  families.push_back(one_counter("sidecall_plugin_late_calls_total",
                                 "Calls that a plugin did not answer within their deadline.",
                                 sum.remote_late));
  families.push_back(one_counter("sidecall_plugin_lost_calls_total",
                                 "Calls that were at a plugin when it went.", sum.remote_lost));
  families.push_back(one_counter("sidecall_plugin_unknown_answers_total",
                                 "Answers of plugins to calls that nobody waits in.",
                                 sum.remote_unknown));
  families.push_back(one_counter("sidecall_worker_restarts_total",
                                 "Workers that died and were replaced.", sum.restarts));
}

const char* name_of(SandboxState state) {
  if (state == SandboxState::kExpected) return "expected";
  return state == SandboxState::kServing ? "serving" : "ending";
}

const char* name_of(worker::SyncState state) {
  if (state == worker::SyncState::kOn) return "on";
  return state == worker::SyncState::kOff ? "off" : "unavailable";
}

void describe_sandboxes(const Snapshot& snapshot, std::vector<MetricFamily>& families) {
  // All of them, so that none is missing where it is 0.
  std::map<std::string, unsigned> states{{"expected", 0}, {"serving", 0}, {"ending", 0}};
  std::map<std::string, unsigned> sync{{"on", 0}, {"off", 0}, {"unavailable", 0}};
  unsigned workerless = 0;
  unsigned listeners = 0;
  for (const auto& view : snapshot.sandboxes) {
    ++states[name_of(view->state)];
    listeners += view->listeners;
    if (view->state == SandboxState::kServing && view->worker_pid == 0) ++workerless;
    if (view->statistics == nullptr) continue;
    const auto state = view->statistics->header().sync.load(std::memory_order_relaxed);
    if (state != worker::SyncState::kUnknown) ++sync[name_of(state)];
  }
  const auto by = [&](const char* name, const char* help, const char* label, const auto& counts) {
    MetricFamily family{name, help, MetricType::Gauge, {}};
    for (const auto& [value, count] : counts) {
      family.metric.push_back(gauge({{label, value}}, count));
    }
    families.push_back(std::move(family));
  };
  by("sidecall_sandboxes", "Sandboxes of the node.", "state", states);
  by("sidecall_sync_wake_up_sandboxes", "Sandboxes by the state of synchronous wake-up.", "state",
     sync);
  families.push_back(
      one_gauge("sidecall_listeners", "Listeners held: one a container, one an exec.", listeners));
  families.push_back(one_gauge("sidecall_workerless_sandboxes",
                               "Serving sandboxes whose worker died and is not replaced yet: their "
                               "calls wait.",
                               workerless));
}

// Merged by id: two may have the same, one of them ending, and no series may be told twice.
void describe_each(const Snapshot& snapshot, std::vector<MetricFamily>& families) {
  std::map<std::string, Figures> sandboxes;
  for (const auto& view : snapshot.sandboxes) {
    if (view->statistics != nullptr) sandboxes[view->id].add(*view->statistics);
  }
  MetricFamily calls{"sidecall_sandbox_calls_total",
                     "System calls answered, by sandbox.",
                     MetricType::Counter,
                     {}};
  MetricFamily restarts{"sidecall_sandbox_worker_restarts_total",
                        "Workers that died and were replaced, by sandbox.",
                        MetricType::Counter,
                        {}};
  for (const auto& [id, figures] : sandboxes) {
    for (const auto& [call, of_call] : figures.calls) {
      add_verdicts(with(call_labels(call), "sandbox", id), of_call, calls);
    }
    restarts.metric.push_back(counter({{"sandbox", id}}, figures.restarts));
  }
  families.push_back(std::move(calls));
  families.push_back(std::move(restarts));
}

}  // namespace

std::vector<MetricFamily> Metrics::Collect() const {
  const auto snapshot = board_.read();
  Figures sum = *snapshot->past;
  for (const auto& view : snapshot->sandboxes) {
    if (view->statistics != nullptr) sum.add(*view->statistics);
  }
  std::vector<MetricFamily> families{
      {"sidecall_build_info",
       "The release that runs.",
       MetricType::Gauge,
       {gauge({{"version", options_.version}}, 1)}},
      one_gauge("sidecall_draining", "1 while the node takes no new containers.",
                drain_.is_on() ? 1 : 0)};
  describe_sandboxes(*snapshot, families);
  describe_calls(sum, families);
  if (options_.by_sandbox) describe_each(*snapshot, families);
  return families;
}

}  // namespace sidecall::agent
