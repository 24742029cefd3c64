// JSON output of what has no protobuf message.
#pragma once

#include <string>
#include <string_view>

namespace sidecall::cli {

// Writes one value, two spaces to a level. An object's members are named by key(); what is opened
// is closed in turn by close().
class JsonWriter {
 public:
  void open_object() { open('{', '}'); }
  void open_array() { open('[', ']'); }
  void close();
  void key(std::string_view name);
  void string(std::string_view value);
  void number(double value);  // finite
  void boolean(bool value) { literal(value ? "true" : "false"); }

  // The text, with a final newline. Everything must be closed.
  [[nodiscard]] std::string take();

 private:
  void open(char bracket, char closing);
  void literal(std::string_view text);
  void quote(std::string_view text);
  void begin_value();
  void new_line();

  std::string text_;
  std::string closing_;  // brackets still to come, the innermost last
  bool is_first_ = true;
  bool after_key_ = false;
};

}  // namespace sidecall::cli
