#include "emulators/step.h"

#include <cstring>
#include <optional>

#include "base/pass_fd.h"

namespace sidecall::emulators {
namespace {

// Both ends are one build of one program, so numbers go as they lie in memory.
template <typename T>
void put(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename T>
std::optional<T> take(std::string_view& in) {
  T number{};
  if (in.size() < sizeof number) return std::nullopt;
  std::memcpy(&number, in.data(), sizeof number);
  in.remove_prefix(sizeof number);
  return number;
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

std::optional<std::string> take_text(std::string_view& in) {
  const auto size = take<std::uint32_t>(in);
  if (!size || in.size() < *size) return std::nullopt;
  std::string text(in.substr(0, *size));
  in.remove_prefix(*size);
  return text;
}

}  // namespace

std::string encode(std::uint32_t instance, const Step& step) {
  std::string out;
  put(out, instance);
  for (const std::uint64_t number : step.numbers) put(out, number);
  put(out, static_cast<std::uint32_t>(step.texts.size()));
  for (const std::string& text : step.texts) put_text(out, text);
  return out;
}

Result<DecodedStep> decode_step(std::string_view bytes, std::vector<UniqueFd> fds) {
  const auto cut = [] { return failure("a step for the helper is malformed"); };
  DecodedStep decoded;
  const auto instance = take<std::uint32_t>(bytes);
  if (!instance || fds.size() > kMostFdsReceived) return cut();
  decoded.instance = *instance;
  for (std::uint64_t& number : decoded.step.numbers) {
    const auto taken = take<std::uint64_t>(bytes);
    if (!taken) return cut();
    number = *taken;
  }
  const auto texts = take<std::uint32_t>(bytes);
  if (!texts || *texts > Step::kMostTexts) return cut();
  for (std::uint32_t index = 0; index < *texts; ++index) {
    auto text = take_text(bytes);
    if (!text) return cut();
    decoded.step.texts.push_back(std::move(*text));
  }
  if (!bytes.empty()) return cut();
  decoded.step.fds = std::move(fds);
  return decoded;
}

std::string encode(const SysResult<StepResult>& result) {
  std::string out;
  put(out, static_cast<std::int32_t>(result ? 0 : result.error().value));
  if (!result) return out;
  put(out, result->value);
  put_text(out, result->bytes);
  return out;
}

Result<SysResult<StepResult>> decode_result(std::string_view bytes, std::vector<UniqueFd> fds) {
  const auto cut = [] { return failure("the helper's answer is malformed"); };
  const auto number = take<std::int32_t>(bytes);
  if (!number || *number < 0) return cut();
  if (*number != 0) {
    if (!bytes.empty()) return cut();
    return SysResult<StepResult>(sys_failure(*number));
  }
  StepResult result;
  const auto value = take<std::int64_t>(bytes);
  auto text = take_text(bytes);
  if (!value || !text || !bytes.empty()) return cut();
  result.value = *value;
  result.bytes = std::move(*text);
  result.fds = std::move(fds);
  return SysResult<StepResult>(std::move(result));
}

}  // namespace sidecall::emulators
