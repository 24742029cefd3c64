#include "cli/json_writer.h"

#include <fmt/format.h>

#include <utility>

namespace sidecall::cli {

void JsonWriter::new_line() {
  text_ += '\n';
  text_.append(2 * closing_.size(), ' ');
}

void JsonWriter::begin_value() {
  if (std::exchange(after_key_, false)) return;
  if (!is_first_) text_ += ',';
  if (!closing_.empty()) new_line();
}

void JsonWriter::open(char bracket, char closing) {
  begin_value();
  text_ += bracket;
  closing_ += closing;
  is_first_ = true;
}

void JsonWriter::close() {
  const char bracket = closing_.back();
  closing_.pop_back();
  if (!is_first_) new_line();
  text_ += bracket;
  is_first_ = false;
}

void JsonWriter::key(std::string_view name) {
  begin_value();
  quote(name);
  text_ += ": ";
  after_key_ = true;
}

void JsonWriter::string(std::string_view value) {
  begin_value();
  quote(value);
  is_first_ = false;
}

void JsonWriter::number(double value) {
  literal(fmt::format("{}", value));
}

void JsonWriter::literal(std::string_view text) {
  begin_value();
  text_ += text;
  is_first_ = false;
}

void JsonWriter::quote(std::string_view text) {
  text_ += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (byte < ' ') {
      text_ += fmt::format("\\u{:04x}", byte);
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

std::string JsonWriter::take() {
  return std::move(text_) + "\n";
}

}  // namespace sidecall::cli
