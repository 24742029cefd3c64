#include "oci_hook/stages.h"

#include <utility>

#include "base/paths.h"
#include "oci/config.h"
#include "oci/state.h"
#include "oci_hook/edit.h"
#include "policy/policy.h"

namespace sidecall::oci_hook {
namespace {

Outcome fail(Error error) {
  return {.exit_status = 1, .output = "", .lines = {error.message}};
}

bool is_optional(const std::map<std::string, std::string>& annotations) {
  const auto found = annotations.find(std::string(kOptionalAnnotation));
  return found != annotations.end() && found->second == "true";
}

Result<void> check_state(std::string_view state) {
  auto parsed = oci::parse_state(state);
  if (!parsed) return pass_on(std::move(parsed), "OCI state on standard input");
  return {};
}

}  // namespace

Outcome precreate(const Arguments& arguments, const AgentLink& agent, std::string_view hook_path,
                  std::string_view text) {
  auto config = oci::Config::parse(text);
  if (!config) return fail(std::move(config).error().within("config.json on standard input"));
  const auto annotations = config->annotations();

  // What may start without an agent does not wait for one.
  const bool optional = is_optional(annotations);
  if (auto pong = optional ? agent.ping_once() : agent.ping(); !pong) {
    Error& error = pong.error().error;
    if (pong.error().kind != LinkFailure::Kind::kAbsent) return fail(std::move(error));
    if (optional) {
      return {.exit_status = 0,
              .output = std::string(text),
              .lines = {"the container starts without interception: " + error.message}};
    }
    error.message += ", or annotate the container " + std::string(kOptionalAnnotation) +
                     "=true to start it without interception";
    return fail(std::move(error));
  }

  const Installation installation{.hook_path = std::string(hook_path),
                                  .run_directory = arguments.run_directory};
  const std::string name = policy_name(annotations, arguments.policy);
  auto applied = is_applied(*config, name, installation);
  if (!applied) return fail(std::move(applied).error());
  if (*applied) return {.exit_status = 0, .output = std::string(text), .lines = {}};

  auto policy = policy::load_policy(arguments.policy_directory, name);
  if (!policy) return fail(std::move(policy).error());
  auto notes = apply(*config, *policy, installation);
  if (!notes) return fail(std::move(notes).error());
  return {.exit_status = 0, .output = config->print(), .lines = *std::move(notes)};
}

Outcome create_runtime(const AgentLink& agent, std::string_view state) {
  if (auto checked = check_state(state); !checked) return fail(std::move(checked).error());
  auto announced = agent.announce("createRuntime", state);
  return announced ? Outcome{} : fail(std::move(announced).error().error);
}

Outcome poststop(const AgentLink& agent, std::string_view state) {
  if (auto checked = check_state(state); !checked) return fail(std::move(checked).error());
  auto announced = agent.announce("poststop", state);
  if (announced) return {};
  return {.exit_status = 0, .output = "", .lines = {std::move(announced).error().error.message}};
}

}  // namespace sidecall::oci_hook
