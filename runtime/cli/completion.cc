#include "cli/completion.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace sidecall::cli {
namespace {

using Visit = std::function<void(const std::string& path, const CommandTree& command)>;

// Each command with the names of those it is below, as they are typed: "profile record".
void walk(const CommandTree& command, const std::string& path, const Visit& visit) {
  visit(path, command);
  for (const CommandTree& below : command.commands) {
    walk(below, path.empty() ? below.name : path + " " + below.name, visit);
  }
}

// For single quotes of any of the three.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += R"('\'')";
    } else if (c == '\n') {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out + "'";
}

// "|"-separated patterns of a case: options after which a value is typed.
std::string value_options(const CommandTree& program) {
  std::string names;
  walk(program, "", [&](const std::string&, const CommandTree& command) {
    for (const auto& option : command.options) {
      if (!option.takes_value) continue;
      for (const std::string& name : option.names) {
        if (("|" + names + "|").find("|" + name + "|") != std::string::npos) continue;
        names += (names.empty() ? "" : "|") + name;
      }
    }
  });
  return names;
}

// Finds the command that is being typed, of which `words` and `current` are the shell's own.
// An option's value is no command's name.
std::string find_command(const CommandTree& program, std::string_view words) {
  std::string known;
  walk(program, "", [&](const std::string& path, const CommandTree&) {
    if (!path.empty()) known += (known.empty() ? "" : "|") + quoted(path);
  });
  return fmt::format(
      R"(  local at="" word skip=""
  for word in {0}; do
    if [ -n "$skip" ]; then skip=""; continue; fi
    case "$word" in
      --) return ;;
      {1}) skip=1; continue ;;
    esac
    case "${{at:+$at }}$word" in
      {2}) at="${{at:+$at }}$word" ;;
    esac
  done
)",
      words, value_options(program), known);
}

constexpr std::string_view kSandboxes =
    R"sh($(sidecall ls --json 2>/dev/null | sed -n 's/^ *"id": "\(.*\)",*$/\1/p'))sh";

std::string bash_script(const CommandTree& program) {
  std::string script =
      "# Completion of sidecall for bash: source <(sidecall completion bash)\n_sidecall() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" candidates=\"\"\n  COMPREPLY=()\n" +
      find_command(program, R"("${COMP_WORDS[@]:1:COMP_CWORD-1}")") +
      "  [ -n \"$skip\" ] && return\n  case \"$at\" in\n";
  walk(program, "", [&](const std::string& path, const CommandTree& command) {
    script += "    " + quoted(path) + ") candidates=\"";
    for (const CommandTree& below : command.commands) script += below.name + " ";
    for (const auto& option : command.options) {
      for (const std::string& name : option.names) script += name + " ";
    }
    script += "\"";
    if (command.takes_sandbox) script += fmt::format("; candidates+=\"{}\"", kSandboxes);
    script += " ;;\n";
  });
  return script +
         "  esac\n  COMPREPLY=($(compgen -W \"$candidates\" -- \"$current\"))\n}\n"
         "complete -o default -F _sidecall sidecall\n";
}

// _describe(1) takes "name:help".
std::string zsh_candidate(const std::string& name, const std::string& help) {
  std::string escaped;
  for (const char c : name) escaped += c == ':' ? std::string("\\:") : std::string(1, c);
  return " " + quoted(escaped + ":" + help);
}

std::string zsh_script(const CommandTree& program) {
  std::string script =
      "#compdef sidecall\n# Completion of sidecall for zsh: source <(sidecall completion zsh)\n"
      "_sidecall() {\n  local -a candidates sandboxes\n" +
      find_command(program, R"("${(@)words[2,CURRENT-1]}")") +
      "  if [ -n \"$skip\" ]; then _files; return; fi\n  case \"$at\" in\n";
  walk(program, "", [&](const std::string& path, const CommandTree& command) {
    script += "    " + quoted(path) + ") candidates=(";
    for (const CommandTree& below : command.commands) {
      script += zsh_candidate(below.name, below.help);
    }
    for (const auto& option : command.options) {
      for (const std::string& name : option.names) script += zsh_candidate(name, option.help);
    }
    script += ")";
    if (command.takes_sandbox) {
      script += fmt::format("; sandboxes=(${{(f)\"{}\"}})", kSandboxes);
    }
    script += " ;;\n";
  });
  return script +
         "  esac\n  (( $#sandboxes )) && compadd -a sandboxes\n"
         "  _describe sidecall candidates || _files\n}\n"
         "(( $+functions[compdef] )) && compdef _sidecall sidecall\n";
}

std::string fish_script(const CommandTree& program) {
  std::string script =
      "# Completion of sidecall for fish: sidecall completion fish | source\n"
      "function __sidecall_at\n"
      "  set -l typed (string match -v -- '-*' (commandline -opc)[2..])\n"
      "  set -l wanted (string split -n ' ' -- $argv[1])\n"
      "  set -l depth (count $wanted)\n"
      "  test $depth -eq 0; and test (count $typed) -eq 0; and return 0\n"
      "  test $depth -gt 0; and test \"$typed[1..$depth]\" = \"$wanted\"\n"
      "end\n";
  walk(program, "", [&](const std::string& path, const CommandTree& command) {
    const std::string here = "complete -c sidecall -n " + quoted("__sidecall_at " + quoted(path));
    for (const CommandTree& below : command.commands) {
      script += fmt::format("{} -a {} -d {}\n", here, below.name, quoted(below.help));
    }
    for (const auto& option : command.options) {
      script += here;
      for (const std::string& name : option.names) {
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      script += (option.takes_value ? " -r -d " : " -d ") + quoted(option.help) + "\n";
    }
    if (command.takes_sandbox) {
      script += here +
                " -a \"(sidecall ls --json 2>/dev/null | string match -rg '^ *\\\"id\\\": "
                "\\\"(.*)\\\"')\"\n";
    }
  });
  return script;
}

}  // namespace

Result<std::string> completion_script(const CommandTree& program, std::string_view shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  return failure("no completion for \"" + std::string(shell) + "\"; there is bash, zsh and fish");
}

}  // namespace sidecall::cli
