#include "worker/statistics.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

namespace sidecall::worker {
namespace {

constexpr std::uint64_t kMagic = 0x73746174'63646973;
constexpr std::uint32_t kVersion = 3;
constexpr unsigned kSubBits = 3;  // eight buckets an octave

constexpr std::size_t kFirstRoute = (sizeof(StatisticsHeader) + 63) / 64 * 64;

std::size_t first_slot(std::size_t routes) {
  return (kFirstRoute + routes * sizeof(RouteStatistics) + 63) / 64 * 64;
}

std::size_t bytes_for(std::size_t routes) {
  return first_slot(routes) + Journal::kSlots * sizeof(JournalSlot);
}

}  // namespace

std::size_t LatencyHistogram::bucket(std::uint64_t nanoseconds) {
  constexpr std::uint64_t kLinear = 1U << kSubBits;
  if (nanoseconds < kLinear) return static_cast<std::size_t>(nanoseconds);
  const auto octave = static_cast<unsigned>(std::bit_width(nanoseconds)) - 1;  // >= kSubBits
  const std::uint64_t sub = nanoseconds >> (octave - kSubBits) & (kLinear - 1);
  const std::size_t index = (octave - kSubBits + 1) * kLinear + static_cast<std::size_t>(sub);
  return std::min(index, kBuckets - 1);
}

std::uint64_t LatencyHistogram::upper_edge(std::size_t bucket) {
  constexpr std::size_t kLinear = 1U << kSubBits;
  if (bucket < kLinear) return bucket;
  const unsigned shift = static_cast<unsigned>(bucket / kLinear) - 1;
  return ((kLinear + bucket % kLinear + 1) << shift) - 1;
}

std::uint64_t LatencyHistogram::quantile(double fraction) const {
  std::array<std::uint64_t, kBuckets> counts{};
  std::uint64_t total = 0;
  for (std::size_t index = 0; index < kBuckets; ++index) {
    counts[index] = buckets_[index].load(std::memory_order_relaxed);
    total += counts[index];
  }
  if (total == 0) return 0;
  const double rank = std::max(1.0, std::ceil(fraction * static_cast<double>(total)));
  std::uint64_t seen = 0;
  for (std::size_t index = 0; index < kBuckets; ++index) {
    seen += counts[index];
    if (static_cast<double>(seen) >= rank) return upper_edge(index);
  }
  return upper_edge(kBuckets - 1);
}

Result<Statistics> Statistics::create(const emulators::Program& program) {
  Statistics statistics;
  statistics.memory_ =
      UniqueFd(::memfd_create("sidecall-statistics", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::size_t bytes = bytes_for(program.routes.size());
  if (!statistics.memory_ || ::ftruncate(statistics.fd(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(statistics.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return errno_failure("making shared memory for statistics");
  }
  if (auto mapped = statistics.map_memory(bytes); !mapped) return pass_on(std::move(mapped));
  statistics.header_ = new (statistics.base_) StatisticsHeader;
  statistics.header_->magic = kMagic;
  statistics.header_->version = kVersion;
  statistics.header_->routes = static_cast<std::uint32_t>(program.routes.size());
  auto* const routes = reinterpret_cast<RouteStatistics*>(statistics.base_ + kFirstRoute);
  for (std::size_t index = 0; index < program.routes.size(); ++index) {
    const emulators::Route& route = program.routes[index];
    auto* entry = new (routes + index) RouteStatistics;
    entry->abi = static_cast<std::uint32_t>(route.abi);
    entry->nr = route.nr;
    route.name.copy(entry->name.data(), entry->name.size() - 1);
  }
  statistics.routes_ = {routes, program.routes.size()};
  // Never constructed one by one: fresh memory is zero, which is a slot that is free.
  statistics.journal_ = {
      reinterpret_cast<JournalSlot*>(statistics.base_ + first_slot(program.routes.size())),
      Journal::kSlots};
  return statistics;
}

Result<Statistics> Statistics::map(UniqueFd memory) {
  Statistics statistics;
  statistics.memory_ = std::move(memory);
  struct stat status {};
  if (::fstat(statistics.fd(), &status) != 0) return errno_failure("statistics memory");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes < kFirstRoute) return failure("statistics memory is too small");
  if (auto mapped = statistics.map_memory(bytes); !mapped) return pass_on(std::move(mapped));
  statistics.header_ = std::launder(reinterpret_cast<StatisticsHeader*>(statistics.base_));
  const StatisticsHeader& header = *statistics.header_;
  if (header.magic != kMagic || header.version != kVersion || bytes != bytes_for(header.routes)) {
    return failure("statistics memory of another release");
  }
  statistics.routes_ = {
      std::launder(reinterpret_cast<RouteStatistics*>(statistics.base_ + kFirstRoute)),
      header.routes};
  statistics.journal_ = {
      std::launder(reinterpret_cast<JournalSlot*>(statistics.base_ + first_slot(header.routes))),
      Journal::kSlots};
  return statistics;
}

Result<void> Statistics::map_memory(std::size_t bytes) {
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  // A helper, forked by the worker, has no business with it.
  if (mapped != MAP_FAILED) ::madvise(mapped, bytes, MADV_DONTFORK);
  if (mapped == MAP_FAILED) return errno_failure("mapping statistics memory");
  base_ = static_cast<std::byte*>(mapped);
  bytes_ = bytes;
  return {};
}

Statistics::Statistics(Statistics&& other) noexcept {
  *this = std::move(other);
}

Statistics& Statistics::operator=(Statistics&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(header_, other.header_);
  std::swap(routes_, other.routes_);
  std::swap(journal_, other.journal_);
  return *this;
}

Statistics::~Statistics() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

}  // namespace sidecall::worker
