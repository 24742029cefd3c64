#include "worker/dispatcher.h"

#include <algorithm>
#include <cerrno>

#include "kernel/actor.h"

namespace sidecall::worker {
namespace {

// Larger than every syscall number of the ABIs served; x32 numbers (0x40000000 and up) are beyond.
constexpr std::int32_t kNumbers = 4096;

void add(const emulators::Rights& rights, emulators::Rights& sum) {
  sum.needs = std::max(sum.needs, rights.needs);
  sum.capabilities |= rights.capabilities;
  sum.host_capabilities |= rights.host_capabilities;
  sum.makes_mounts |= rights.makes_mounts;
  sum.starts_programs |= rights.starts_programs;
}

// Whether the rule's emulator, if it has one, exists and has such a member. Instances are known.
bool is_served(const emulators::Rule& rule, const emulators::Program& program) {
  const auto& instances = program.instances;
  if (rule.action == emulators::Rule::Action::kRemote) {
    return rule.instance < program.remotes.size();
  }
  if (rule.action != emulators::Rule::Action::kEmulate) return true;
  return rule.instance < instances.size() &&
         rule.member < emulators::find_row(instances[rule.instance].emulator)->members.size();
}

}  // namespace

Result<Dispatcher> Dispatcher::build(emulators::Program program) {
  Dispatcher dispatcher;
  for (const emulators::Instance& instance : program.instances) {
    const emulators::Row* row = emulators::find_row(instance.emulator);
    if (row == nullptr) return failure("there is no emulator \"" + instance.emulator + "\"");
    auto emulator = row->make(instance.options);
    if (!emulator) return pass_on(std::move(emulator), "emulator " + instance.emulator);
    const emulators::Rights further = (*emulator)->further_rights();
    const emulators::Needs needs = std::max(row->rights.needs, further.needs);
    for (const emulators::Rights& rights : {row->rights, further}) {
      add(rights, dispatcher.rights_);
      if (!rights.own_users_only) add(rights, dispatcher.rights_among_host_users_);
    }
    dispatcher.needs_targets_ |= needs != emulators::Needs::kRegisters;
    dispatcher.built_.push_back(
        {.emulator = std::move(*emulator), .needs = needs, .repeatable = row->repeatable});
  }
  for (std::size_t route = 0; route < program.routes.size(); ++route) {
    const auto& [abi, nr, name, rules] = program.routes[route];
    if (nr < 0 || nr >= kNumbers || route >= UINT16_MAX) {
      return failure("syscall " + name + " is out of range");
    }
    for (const emulators::Rule& rule : rules) {
      if (!is_served(rule, program)) {
        return failure("syscall " + name + " has a rule whose emulator does not serve it");
      }
    }
    Index& index = dispatcher.index_[static_cast<std::size_t>(abi)];
    const auto number = static_cast<std::size_t>(nr);
    if (index.size() <= number) index.resize(number + 1);
    if (index[number] != 0) return failure("syscall " + name + " has two routes");
    index[number] = static_cast<std::uint16_t>(route + 1);
  }
  if (!program.remotes.empty()) {
    // To read and write what a plugin asks for, and to open files as the caller.
    dispatcher.needs_targets_ = true;
    for (emulators::Rights* rights : {&dispatcher.rights_, &dispatcher.rights_among_host_users_}) {
      rights->capabilities |= kernel::actor_capabilities();
    }
  }
  dispatcher.program_ = std::move(program);
  return dispatcher;
}

Decision Dispatcher::decide(const kernel::Notification& notification) const {
  Decision decision;
  const auto abi = kernel::abi_of_audit_arch(notification.arch);
  if (!abi || notification.nr < 0 || notification.nr >= kNumbers) {
    decision.action = emulators::Rule::Action::kErrno;
    decision.number = ENOSYS;
    return decision;
  }
  const Index& index = index_[static_cast<std::size_t>(*abi)];
  const auto nr = static_cast<std::size_t>(notification.nr);
  if (nr >= index.size() || index[nr] == 0) return decision;
  decision.route = index[nr] - 1U;
  for (const emulators::Rule& rule : program_.routes[decision.route].rules) {
    if (!emulators::hold(rule.when, notification.args)) continue;
    decision.action = rule.action;
    decision.number = rule.number;
    if (rule.action == emulators::Rule::Action::kEmulate) {
      const Built& built = built_[rule.instance];
      decision.emulator = built.emulator.get();
      decision.instance = rule.instance;
      decision.needs = built.needs;
      decision.repeatable = built.repeatable;
      decision.call = {.abi = *abi, .member = rule.member, .args = notification.args};
    }
    if (rule.action == emulators::Rule::Action::kRemote) {
      decision.instance = rule.instance;
      decision.needs = emulators::Needs::kFiles;
      decision.call = {.abi = *abi, .args = notification.args};
    }
    return decision;
  }
  return decision;
}

}  // namespace sidecall::worker
