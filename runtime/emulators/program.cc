#include "emulators/program.h"

#include "emulators/wire.h"

namespace sidecall::emulators {
namespace {

using wire::Reader;
using wire::Writer;

constexpr std::uint32_t kMagic = 0x50434453;  // "SDCP"
constexpr std::uint32_t kVersion = 2;
// What records of earlier releases hold: without limits, plugins and remotes.
constexpr std::uint32_t kOldestVersion = 1;

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
  wire::write_conditions(out, rule.when);
  out.number(static_cast<std::uint8_t>(rule.action));
  out.number(rule.number);
  out.number(rule.instance);
  out.number(rule.member);
}

void read_limits(Reader& in, Limits& limits) {
  for (auto* limit : {&limits.calls, &limits.threads, &limits.memory_mib, &limits.wait_seconds}) {
    *limit = in.number<std::uint32_t>();
  }
  in.require(limits.are_in_range());
}

void write_remote(Writer& out, const Remote& remote) {
  out.number(remote.plugin);
  out.number(remote.deadline_ms);
  out.number(static_cast<std::uint8_t>(remote.absent));
  out.number(remote.errno_value);
  out.number(static_cast<std::uint8_t>(remote.may_continue));
}

Remote read_remote(Reader& in, std::size_t plugins) {
  Remote remote;
  remote.plugin = in.number<std::uint32_t>();
  remote.deadline_ms = in.number<std::uint32_t>();
  remote.absent = in.enumerator(Remote::Absent::kWait);
  remote.errno_value = in.number<std::uint16_t>();
  remote.may_continue = in.number<std::uint8_t>() != 0;
  in.require(remote.plugin < plugins && remote.errno_value > 0 && remote.errno_value < 4096);
  return remote;
}

Rule read_rule(Reader& in, const Program& program) {
  Rule rule;
  rule.when = wire::read_conditions(in);
  rule.action = in.enumerator(Rule::Action::kRemote);
  rule.number = in.number<std::int64_t>();
  rule.instance = in.number<std::uint32_t>();
  rule.member = in.number<std::uint32_t>();
  in.require(rule.action != Rule::Action::kEmulate || rule.instance < program.instances.size());
  in.require(rule.action != Rule::Action::kRemote || rule.instance < program.remotes.size());
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
  out.count(program.plugins.size());
  for (const std::string& plugin : program.plugins) out.text(plugin);
  out.count(program.remotes.size());
  for (const Remote& remote : program.remotes) write_remote(out, remote);
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
  const auto version = in.number<std::uint32_t>();
  if (version < kOldestVersion || version > kVersion) {
    return failure("program of version " + std::to_string(version) + ", not " +
                   std::to_string(kVersion) +
                   ": sidecalld and sidecall-worker are of different releases");
  }
  Program program;
  program.policy = in.text();
  program.sync_wake_up = in.number<std::uint8_t>() != 0;
  if (version >= 2) read_limits(in, program.limits);
  program.instances.resize(in.count());
  for (Instance& instance : program.instances) {
    instance.emulator = in.text();
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
      std::string name = in.text();
      instance.options.insert_or_assign(std::move(name), read_option(in));
    }
  }
  if (version >= 2) {
    program.plugins.resize(in.count());
    for (std::string& plugin : program.plugins) plugin = in.text();
    program.remotes.resize(in.count());
    for (Remote& remote : program.remotes) remote = read_remote(in, program.plugins.size());
  }
  program.routes.resize(in.count());
  for (Route& route : program.routes) {
    route.abi = in.enumerator(kernel::Abi::kAArch64);
    route.nr = in.number<std::int32_t>();
    route.name = in.text();
    route.rules.resize(in.count());
    for (Rule& rule : route.rules) rule = read_rule(in, program);
  }
  if (!in.ok() || !in.at_end()) return failure("a program that is cut, too long or out of range");
  return program;
}

}  // namespace sidecall::emulators
