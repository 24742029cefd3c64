// How plain data goes from one process of ours to another: numbers as they lie in memory, texts and
// sequences after their length. For messages within one machine.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "emulators/conditions.h"

namespace sidecall::emulators::wire {

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

inline void write_conditions(Writer& out, const Conditions& conditions) {
  out.count(conditions.size());
  for (const Condition& condition : conditions) {
    out.number(condition.index);
    out.number(static_cast<std::uint8_t>(condition.op));
    out.number(condition.value);
    out.number(condition.value_two);
  }
}

inline Conditions read_conditions(Reader& in) {
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

}  // namespace sidecall::emulators::wire
