// Tables in plain text, for a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sidecall::cli {

inline constexpr std::size_t kTerminalWidth = 80;

struct Column {
  enum class Align : std::uint8_t { kLeft, kRight };
  std::string heading;
  Align align = Align::kLeft;
  bool elastic = false;  // gives way, down to 8 characters, where the table is too wide
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // A heading and a line per row, two spaces between columns and none at the end. A cell that is
  // cut ends in "…". A table whose columns cannot give way is wider than `width` rather than cut.
  [[nodiscard]] std::string render(std::size_t width = kTerminalWidth) const;

 private:
  [[nodiscard]] std::vector<std::size_t> column_widths(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` broken at spaces into lines of at most `width` characters, each after `indent` spaces.
[[nodiscard]] std::string wrap(std::string_view text, std::size_t indent,
                               std::size_t width = kTerminalWidth);

}  // namespace sidecall::cli
