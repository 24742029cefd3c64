#include "cli/bundle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>

#include "base/file.h"
#include "base/paths.h"
#include "oci/config.h"
#include "oci_hook/config_file.h"
#include "policy/policy.h"

namespace sidecall::cli {
namespace {

constexpr std::string_view kRecordHeading = "sidecall bundle record 1\n";
constexpr unsigned kRecordMode = 0600;

// FNV-1a: tells an untouched file from one that was edited, and need withstand nobody.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

// The content of config.json.sidecall.
struct Record {
  oci_hook::Installation installation;
  std::string edited_digest;  // of config.json as we left it
  std::string original;
};

std::string print_record(const Record& record) {
  return fmt::format("{}{}\n{}\n{}\n{}", kRecordHeading, record.installation.hook_path,
                     record.installation.run_directory, record.edited_digest, record.original);
}

Result<Record> parse_record(std::string_view text) {
  if (!text.starts_with(kRecordHeading)) return failure("not a record of `sidecall bundle add`");
  text.remove_prefix(kRecordHeading.size());
  Record record;
  for (std::string* line : {&record.installation.hook_path, &record.installation.run_directory,
                            &record.edited_digest}) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return failure("cut short");
    *line = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  record.original = text;
  return record;
}

struct Bundle {
  std::string config_path;
  std::string record_path;
  std::string config;
  std::optional<Record> record;  // where it is edited
};

Result<Bundle> open_bundle(const std::string& directory) {
  Bundle bundle{.config_path = in_directory(directory, "config.json"),
                .record_path = in_directory(directory, "config.json.sidecall"),
                .config = {},
                .record = {}};
  auto config = read_file(bundle.config_path);
  if (!config) return pass_on(std::move(config));
  bundle.config = *std::move(config);
  if (::access(bundle.record_path.c_str(), F_OK) != 0) return bundle;
  auto text = read_file(bundle.record_path, 17U << 20);
  if (!text) return pass_on(std::move(text));
  auto record = parse_record(*text);
  if (!record) return pass_on(std::move(record), bundle.record_path);
  bundle.record = *std::move(record);
  return bundle;
}

// The text of config.json without our edit.
Result<std::string> undone(const Bundle& bundle) {
  if (!bundle.record) return bundle.config;
  const Record& record = *bundle.record;
  if (digest(bundle.config) == record.edited_digest || bundle.config == record.original) {
    return record.original;
  }
  auto config = oci::Config::parse(bundle.config);
  if (!config) return pass_on(std::move(config), bundle.config_path);
  auto original = oci::Config::parse(record.original);
  if (!original) return pass_on(std::move(original), bundle.record_path);
  auto taken_out = oci_hook::take_out(*config, *original, record.installation);
  if (!taken_out) return pass_on(std::move(taken_out), bundle.config_path);
  return config->print();
}

Result<policy::Policy> choose_policy(const BundleRequest& request, const oci::Config& config) {
  const auto name = oci_hook::policy_name(config.annotations(),
                                          request.policy.value_or(std::string(kDefaultPolicy)));
  if (request.policy && *request.policy != name) {
    return failure(fmt::format("the annotation {} names policy \"{}\", not \"{}\"; change it there",
                               kPolicyAnnotation, name, *request.policy));
  }
  return policy::load_policy(request.policy_directory, name);
}

}  // namespace

Result<std::vector<std::string>> add_to_bundle(const BundleRequest& request) {
  auto bundle = open_bundle(request.directory);
  if (!bundle) return pass_on(std::move(bundle));
  auto original = undone(*bundle);
  if (!original) return pass_on(std::move(original));
  auto config = oci::Config::parse(*original);
  if (!config) return pass_on(std::move(config), bundle->config_path);
  auto policy = choose_policy(request, *config);
  if (!policy) return pass_on(std::move(policy), bundle->config_path);
  auto notes = oci_hook::apply(*config, *policy, request.installation);
  if (!notes) return pass_on(std::move(notes), bundle->config_path);

  const std::string edited = config->print();
  const Record record{.installation = request.installation,
                      .edited_digest = digest(edited),
                      .original = *std::move(original)};
  auto recorded = replace_file(bundle->record_path, print_record(record), kRecordMode);
  if (!recorded) return pass_on(std::move(recorded));
  if (auto written = oci_hook::replace_config_file(bundle->config_path, edited); !written)
    return pass_on(std::move(written));
  return notes;
}

Result<void> remove_from_bundle(const std::string& directory) {
  auto bundle = open_bundle(directory);
  if (!bundle) return pass_on(std::move(bundle));
  if (!bundle->record) {
    return failure(bundle->record_path + ": there is none, so there is nothing to undo");
  }
  auto original = undone(*bundle);
  if (!original) return pass_on(std::move(original));
  if (auto written = oci_hook::replace_config_file(bundle->config_path, *original); !written)
    return written;
  if (::unlink(bundle->record_path.c_str()) != 0) {
    return errno_failure("removing " + bundle->record_path);
  }
  return {};
}

}  // namespace sidecall::cli
