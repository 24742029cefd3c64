// sidecall emulators: the table of emulators, for people and programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/json_writer.h"
#include "cli/table.h"
#include "emulators/table.h"
#include "kernel/privileges.h"

namespace sidecall::cli {
namespace {

using emulators::Row;

struct EmulatorsOptions {
  std::string name;
  bool as_json = false;
};

std::string_view support_name(emulators::Support support) {
  return support == emulators::Support::kFull ? "full" : "partial";
}

std::string_view needs_name(emulators::Needs needs) {
  static constexpr std::array<std::string_view, 3> kNames = {"registers", "memory", "files"};
  return kNames[static_cast<std::size_t>(needs)];
}

std::string_view type_name(emulators::OptionType type) {
  static constexpr std::array<std::string_view, 4> kNames = {"boolean", "integer", "string",
                                                             "list of strings"};
  return kNames[static_cast<std::size_t>(type)];
}

std::vector<std::string> syscalls_of(const Row& row) {
  std::vector<std::string> names;
  for (const emulators::Member& member : row.members) names.emplace_back(member.syscall);
  return names;
}

// "CAP_MKNOD", …
std::vector<std::string> capabilities_of(std::uint64_t bits) {
  std::vector<std::string> names;
  if (bits == 0) return names;
  std::istringstream text(kernel::capability_names(bits));
  for (std::string name; std::getline(text, name, ',');) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    names.push_back(std::move(name));
  }
  return names;
}

void print_table() {
  Table table({{"NAME"}, {"SYSCALLS"}, {"SUPPORT"}, {"NEEDS"}});
  for (const Row& row : emulators::table()) {
    table.add_row({std::string(row.name), fmt::format("{}", fmt::join(syscalls_of(row), ", ")),
                   std::string(support_name(row.support)),
                   std::string(needs_name(row.rights.needs))});
  }
  print(table.render());
  for (const Row& row : emulators::table()) {
    print(fmt::format("\n{}: {}\n{}", row.name, row.summary, wrap(row.notes, 2)));
  }
}

// The capabilities that are kept, under a heading in the wrapped text's own margin.
void print_capabilities(std::string_view heading, std::uint64_t bits) {
  if (bits == 0) return;
  constexpr std::size_t kMargin = 14;
  std::string names = wrap(fmt::format("{}", fmt::join(capabilities_of(bits), " ")), kMargin);
  print(names.replace(0, heading.size(), heading));
}

void print_row(const Row& row) {
  print(fmt::format("{}: {}\n\n", row.name, row.summary));
  print(fmt::format("syscalls      {}\nsupport       {}\nneeds         {}\n",
                    fmt::join(syscalls_of(row), " "), support_name(row.support),
                    needs_name(row.rights.needs)));
  print_capabilities("in sandbox", row.rights.capabilities);
  print_capabilities("on host", row.rights.host_capabilities);
  print("\n" + wrap(row.notes, 0));
  if (!row.options.empty()) print("\noptions\n");
  for (const emulators::OptionSpec& option : row.options) {
    print(fmt::format("  {} ({}{})\n{}", option.name, type_name(option.type),
                      option.required ? ", required" : "", wrap(option.summary, 4)));
  }
  print(fmt::format("\nexample\n  {}\n", row.example));
}

void write_strings(JsonWriter& json, std::string_view key, const std::vector<std::string>& values) {
  json.key(key);
  json.open_array();
  for (const std::string& value : values) json.string(value);
  json.close();
}

void write_row(JsonWriter& json, const Row& row) {
  const auto member = [&](std::string_view key, std::string_view value) {
    json.key(key);
    json.string(value);
  };
  json.open_object();
  member("name", row.name);
  write_strings(json, "syscalls", syscalls_of(row));
  member("support", support_name(row.support));
  member("needs", needs_name(row.rights.needs));
  write_strings(json, "capabilities", capabilities_of(row.rights.capabilities));
  write_strings(json, "host_capabilities", capabilities_of(row.rights.host_capabilities));
  member("summary", row.summary);
  member("notes", row.notes);
  json.key("options");
  json.open_array();
  for (const emulators::OptionSpec& option : row.options) {
    json.open_object();
    member("name", option.name);
    member("type", type_name(option.type));
    json.key("required");
    json.boolean(option.required);
    member("summary", option.summary);
    json.close();
  }
  json.close();
  member("example", row.example);
  json.close();
}

int list_emulators(const EmulatorsOptions& options) {
  const Row* row = options.name.empty() ? nullptr : emulators::find_row(options.name);
  if (row == nullptr && !options.name.empty()) {
    return fail({"no emulator \"" + options.name + "\"; see `sidecall emulators`"});
  }
  if (options.as_json) {
    JsonWriter json;
    if (row == nullptr) json.open_array();
    for (const Row& each : emulators::table()) {
      if (row == nullptr || row->name == each.name) write_row(json, each);
    }
    if (row == nullptr) json.close();
    print(json.take());
  } else if (row != nullptr) {
    print_row(*row);
  } else {
    print_table();
  }
  return 0;
}

}  // namespace

void add_emulators(CommandLine& line, const Context& /*context*/) {
  const auto options = std::make_shared<EmulatorsOptions>();
  line.command("emulators", "List what policies can have emulated")
      .text("NAME", options->name, "One emulator, with its options and an example")
      .flag("--json", options->as_json, "JSON")
      .footer("Example: sidecall emulators mknod")
      .action([options] { return list_emulators(*options); });
}

}  // namespace sidecall::cli
