#include "agent/record.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "sidecall/v1/record.pb.h"

namespace sidecall::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kMark = "sidecalld sandbox record ";
constexpr std::string_view kVersion = "1";

// FNV-1a: against what a disk or a half write does, not against a person.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return sum;
}

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, value);
  return text.data();
}

Result<Record> decode_payload(std::uint64_t number, std::string_view payload) {
  v1::SandboxRecord message;
  if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return failure("damaged");
  }
  // As long as the clock can hold, in its finer unit.
  constexpr auto kLatest =
      std::chrono::floor<milliseconds>(std::chrono::system_clock::duration::max());
  if (message.since_unix_ms() < 0 || message.since_unix_ms() > kLatest.count()) {
    return failure("its start is out of range");
  }
  auto program = emulators::decode(message.program());
  if (!program) return pass_on(std::move(program), "its policy");
  Record record{
      .number = number,
      .identity = {message.id(), message.bundle(), message.pid(), {}},
      .program = std::move(*program),
      .since = std::chrono::system_clock::time_point(milliseconds(message.since_unix_ms()))};
  for (const auto& [key, value] : message.annotations()) {
    record.identity.annotations.emplace(key, value);
  }
  if (record.identity.id.empty() || record.identity.pid <= 0) return failure("incomplete");
  return record;
}

}  // namespace

std::string encode(const Record& record) {
  v1::SandboxRecord message;
  message.set_id(record.identity.id);
  message.set_bundle(record.identity.bundle);
  message.set_pid(record.identity.pid);
  message.set_since_unix_ms(
      std::chrono::duration_cast<milliseconds>(record.since.time_since_epoch()).count());
  message.set_program(emulators::encode(record.program));
  for (const auto& [key, value] : record.identity.annotations) {
    (*message.mutable_annotations())[key] = value;
  }
  return sealed(message.SerializeAsString());
}

std::string sealed(std::string_view payload) {
  return std::string(kMark)
      .append(kVersion)
      .append(" ")
      .append(hexadecimal(checksum(payload)))
      .append("\n")
      .append(payload);
}

Result<Record> decode_record(std::uint64_t number, std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  const std::string_view line = bytes.substr(0, end);
  if (end == std::string_view::npos || !line.starts_with(kMark)) return failure("damaged");
  const std::string_view rest = line.substr(kMark.size());
  const std::string_view version = rest.substr(0, rest.find(' '));
  if (version != kVersion) {
    return failure("version " + std::string(version.substr(0, 16)) +
                   ", where this sidecalld reads " + std::string(kVersion) +
                   "; the release that wrote it can take the sandbox over");
  }
  const std::string_view payload = bytes.substr(end + 1);
  if (rest != std::string(kVersion) + " " + hexadecimal(checksum(payload))) {
    return failure("damaged");
  }
  return decode_payload(number, payload);
}

}  // namespace sidecall::agent
