#include "emulators/program.h"

#include <cstring>
#include <limits>

namespace sidecall::emulators {
namespace {

constexpr std::uint32_t kMagic = 0x50434453;  // "SDCP"
constexpr std::uint32_t kVersion = 2;

class Writer {
 public:
  template <typename T>
  void number(T value) {
    static_assert(std::is_integral_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    count(value.size());
    out_.append(value);
  }
  void count(std::size_t value) { number(static_cast<std::uint32_t>(value)); }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads what Writer wrote. After the first failure everything reads as zero and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  template <typename T>
  T number() {
    T value{};
    if (!take(sizeof value)) return value;
    std::memcpy(&value, taken_.data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto length = number<std::uint32_t>();
    return take(length) ? std::string(taken_) : std::string();
  }
  // The length of a sequence whose elements take at least one byte each: bounded by what is left.
  std::size_t count() {
    const auto length = number<std::uint32_t>();
    if (length > in_.size()) ok_ = false;
    return ok_ ? length : 0;
  }
  template <typename Enum>
  Enum enumerator(Enum last) {
    const auto value = number<std::uint8_t>();
    if (value > static_cast<std::uint8_t>(last)) ok_ = false;
    return ok_ ? static_cast<Enum>(value) : Enum{};
  }
  void require(bool condition) { ok_ = ok_ && condition; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }

 private:
  bool take(std::size_t length) {
    if (!ok_ || length > in_.size()) {
      ok_ = false;
      return false;
    }
    taken_ = in_.substr(0, length);
    in_.remove_prefix(length);
    return true;
  }
  std::string_view in_;
  std::string_view taken_;
  bool ok_ = true;
};

void write_conditions(Writer& out, const Conditions& conditions) {
  out.count(conditions.size());
  for (const Condition& condition : conditions) {
    out.number(condition.index);
    out.number(static_cast<std::uint8_t>(condition.op));
    out.number(condition.value);
    out.number(condition.value_two);
  }
}

Conditions read_conditions(Reader& in) {
  Conditions conditions(in.count());
  for (Condition& condition : conditions) {
    condition.index = in.number<std::uint8_t>();
    in.require(condition.index < 6);
    condition.op = in.enumerator(Compare::kMaskedEqual);
    condition.value = in.number<std::uint64_t>();
    condition.value_two = in.number<std::uint64_t>();
  }
  return conditions;
}

void write_option(Writer& out, const OptionValue& option) {
  out.number(static_cast<std::uint8_t>(option.index()));
  if (const auto* flag = std::get_if<bool>(&option)) {
    out.number(static_cast<std::uint8_t>(*flag));
  } else if (const auto* number = std::get_if<std::int64_t>(&option)) {
    out.number(*number);
  } else if (const auto* text = std::get_if<std::string>(&option)) {
    out.text(*text);
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&option)) {
    out.count(list->size());
    for (const std::string& item : *list) out.text(item);
  }
}

OptionValue read_option(Reader& in) {
  switch (in.enumerator(OptionType::kStringList)) {
    case OptionType::kBool:
      return in.number<std::uint8_t>() != 0;
    case OptionType::kInteger:
      return in.number<std::int64_t>();
    case OptionType::kString:
      return in.text();
    case OptionType::kStringList: {
      std::vector<std::string> list(in.count());
      for (std::string& item : list) item = in.text();
      return list;
    }
  }
  return false;
}

void write_rule(Writer& out, const Rule& rule) {
  write_conditions(out, rule.when);
  out.number(static_cast<std::uint8_t>(rule.action));
  out.number(rule.number);
  out.number(rule.instance);
  out.number(rule.member);
}

Rule read_rule(Reader& in, std::size_t instances) {
  Rule rule;
  rule.when = read_conditions(in);
  rule.action = in.enumerator(Rule::Action::kEmulate);
  rule.number = in.number<std::int64_t>();
  rule.instance = in.number<std::uint32_t>();
  rule.member = in.number<std::uint32_t>();
  in.require(rule.action != Rule::Action::kEmulate || rule.instance < instances);
  in.require(rule.action != Rule::Action::kErrno || (rule.number > 0 && rule.number < 4096));
  return rule;
}

}  // namespace

std::string encode(const Program& program) {
  Writer out;
  out.number(kMagic);
  out.number(kVersion);
  out.text(program.policy);
  out.number(static_cast<std::uint8_t>(program.sync_wake_up));
  const Limits& limits = program.limits;
  for (const auto limit : {limits.calls, limits.threads, limits.memory_mib, limits.wait_seconds}) {
    out.number(limit);
  }
  out.count(program.instances.size());
  for (const Instance& instance : program.instances) {
    out.text(instance.emulator);
    out.count(instance.options.size());
    for (const auto& [name, value] : instance.options) {
      out.text(name);
      write_option(out, value);
    }
  }
  out.count(program.routes.size());
  for (const Route& route : program.routes) {
    out.number(static_cast<std::uint8_t>(route.abi));
    out.number(route.nr);
    out.text(route.name);
    out.count(route.rules.size());
    for (const Rule& rule : route.rules) write_rule(out, rule);
  }
  return out.take();
}

Result<Program> decode(std::string_view bytes) {
  Reader in(bytes);
  if (in.number<std::uint32_t>() != kMagic) return failure("not a sidecall program");
  if (const auto version = in.number<std::uint32_t>(); version != kVersion) {
    return failure("program of version " + std::to_string(version) + ", not " +
                   std::to_string(kVersion) +
                   ": sidecalld and sidecall-worker are of different releases");
  }
  Program program;
  program.policy = in.text();
  program.sync_wake_up = in.number<std::uint8_t>() != 0;
  Limits& limits = program.limits;
  for (auto* limit : {&limits.calls, &limits.threads, &limits.memory_mib, &limits.wait_seconds}) {
    *limit = in.number<std::uint32_t>();
  }
  in.require(limits.are_in_range());
  program.instances.resize(in.count());
  for (Instance& instance : program.instances) {
    instance.emulator = in.text();
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
      std::string name = in.text();
      instance.options.insert_or_assign(std::move(name), read_option(in));
    }
  }
  program.routes.resize(in.count());
  for (Route& route : program.routes) {
    route.abi = in.enumerator(kernel::Abi::kAArch64);
    route.nr = in.number<std::int32_t>();
    route.name = in.text();
    route.rules.resize(in.count());
    for (Rule& rule : route.rules) rule = read_rule(in, program.instances.size());
  }
  if (!in.ok() || !in.at_end()) return failure("a program that is cut, too long or out of range");
  return program;
}

}  // namespace sidecall::emulators
