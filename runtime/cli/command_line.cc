#include "cli/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace sidecall::cli {

CommandLine CommandLine::command(const std::string& name, const std::string& help) {
  return {*app_->add_subcommand(name, help), *chosen_};
}

CommandLine CommandLine::group(const std::string& name, const std::string& help) {
  auto* group = app_->add_subcommand(name, help);
  group->require_subcommand(1);
  return {*group, *chosen_};
}

CommandLine& CommandLine::text(const std::string& name, std::string& value,
                               const std::string& help) {
  auto* option = app_->add_option(name, value, help);
  if (!value.empty()) option->capture_default_str();
  return *this;
}

CommandLine& CommandLine::required(const std::string& name, std::string& value,
                                   const std::string& help) {
  app_->add_option(name, value, help)->required();
  return *this;
}

CommandLine& CommandLine::words(const std::string& name, std::vector<std::string>& values,
                                const std::string& help) {
  app_->add_option(name, values, help)->required();
  return *this;
}

CommandLine& CommandLine::repeatable(const std::string& name, const std::string& kind,
                                     std::vector<std::string>& values, const std::string& help) {
  app_->add_option(name, values, help)->type_name(kind)->allow_extra_args(false);
  return *this;
}

CommandLine& CommandLine::number(const std::string& name, int& value, int least, int most,
                                 const std::string& help) {
  app_->add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
  return *this;
}

CommandLine& CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, help);
  return *this;
}

CommandTree CommandLine::tree() const {
  CommandTree tree{.name = app_->get_name(),
                   .help = app_->get_description(),
                   .options = {},
                   .takes_sandbox = false,
                   .commands = {}};
  for (const CLI::Option* option : app_->get_options()) {
    if (option->get_positional()) {
      tree.takes_sandbox |= option->get_name() == "ID";
      continue;
    }
    CommandTree::Option described{.names = {},
                                  .help = option->get_description(),
                                  .takes_value = option->get_items_expected_max() > 0};
    for (const std::string& name : option->get_snames()) described.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) described.names.push_back("--" + name);
    tree.options.push_back(std::move(described));
  }
  for (CLI::App* command : app_->get_subcommands([](const CLI::App*) { return true; })) {
    tree.commands.push_back(CommandLine(*command, *chosen_).tree());
  }
  return tree;
}

CommandLine& CommandLine::footer(const std::string& text) {
  app_->footer(text);
  return *this;
}

void CommandLine::action(std::function<int()> run) {
  app_->callback([chosen = chosen_, run = std::move(run)] { *chosen = run; });
}

}  // namespace sidecall::cli
