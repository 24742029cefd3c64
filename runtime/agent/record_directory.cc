#include "agent/record_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/paths.h"

namespace sidecall::agent {
namespace {

// Annotations may be long; a mebibyte of state is the most that the agent takes from a runtime.
constexpr std::size_t kMostBytes = 8U << 20;

std::optional<std::uint64_t> number_of(const std::string& name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

// replace_file() writes "NUMBER.XXXXXX" first.
bool is_draft(const std::string& name) {
  const std::size_t dot = name.find('.');
  return dot != std::string::npos && number_of(name.substr(0, dot)).has_value();
}

}  // namespace

Result<RecordDirectory> RecordDirectory::open(std::string path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_failure("creating " + path);
  return RecordDirectory(std::move(path));
}

std::string RecordDirectory::file_of(std::uint64_t number) const {
  return in_directory(path_, std::to_string(number));
}

Result<void> RecordDirectory::write(const Record& record) const {
  auto written = replace_file(file_of(record.number), encode(record), 0600);
  if (!written) return pass_on(std::move(written), "keeping a record of the sandbox");
  return {};
}

void RecordDirectory::remove(std::uint64_t number) const {
  ::unlink(file_of(number).c_str());
}

Result<std::vector<RecordDirectory::Found>> RecordDirectory::read_all() const {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<Found> all;
  for (fs::directory_iterator entry(path_, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (is_draft(name)) {
      ::unlink(entry->path().c_str());
      continue;
    }
    const auto number = number_of(name);
    if (!number) continue;
    auto bytes = read_file(entry->path(), kMostBytes);
    all.push_back({*number, bytes ? decode_record(*number, *bytes) : pass_on(std::move(bytes))});
  }
  if (error) return failure(path_ + ": " + error.message());
  std::sort(all.begin(), all.end(),
            [](const Found& one, const Found& other) { return one.number < other.number; });
  return all;
}

}  // namespace sidecall::agent
