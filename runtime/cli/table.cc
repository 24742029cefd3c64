#include "cli/table.h"

#include <algorithm>

namespace sidecall::cli {
namespace {

constexpr std::size_t kLeastWidth = 8;
constexpr std::string_view kGap = "  ";

bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// Characters of UTF-8, each taken to be one column wide.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string cut(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++end) {
    if (starts_character(text[end]) && characters++ == width - 1) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace

std::vector<std::size_t> Table::column_widths(std::size_t width) const {
  std::vector<std::size_t> widths;
  std::size_t total = kGap.size() * (columns_.size() - 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = width_of(columns_[i].heading);
    for (const auto& row : rows_) widest = std::max(widest, width_of(row[i]));
    widths.push_back(widest);
    total += widest;
  }
  // One character at a time from the widest that can still give one.
  while (total > width) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].elastic || widths[i] <= kLeastWidth) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return widths;
}

std::string Table::render(std::size_t width) const {
  const auto widths = column_widths(width);
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = cut(cell_of(i), widths[i]);
      const std::string padding(widths[i] - width_of(cell), ' ');
      if (i > 0) line += kGap;
      line += columns_[i].align == Column::Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t i) { return columns_[i].heading; });
  for (const auto& row : rows_) {
    add_line([&](std::size_t i) { return row[i]; });
  }
  return text;
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string wrapped;
  std::string line(indent, ' ');
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (width_of(line) > indent && width_of(line) + 1 + width_of(word) > width) {
      wrapped += line + "\n";
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return wrapped + line + "\n";
}

}  // namespace sidecall::cli
