#include "oci/config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "oci/json.h"
#include "oci/seccomp_json.h"

namespace sidecall::oci {
namespace {

constexpr std::size_t kMaxConfig = 16U << 20;
constexpr std::array<std::string_view, 2> kStages = {"createRuntime", "poststop"};

// How a document was laid out: dump()'s arguments and whether a newline ends it.
struct Layout {
  int width = -1;  // -1: one line
  char fill = ' ';
  bool final_newline = false;
};

// As the first member is indented, so is the rest.
Layout layout_of(std::string_view text) {
  Layout layout;
  layout.final_newline = text.ends_with('\n');
  const auto open = text.find('{');
  const auto line = text.find('\n', open);
  const auto first = text.find_first_not_of(" \t\r\n", open + 1);
  if (line == std::string_view::npos || first == std::string_view::npos || first < line) {
    return layout;
  }
  const auto start = text.rfind('\n', first) + 1;
  layout.width = static_cast<int>(std::min<std::size_t>(first - start, 8));
  if (text[start] == '\t') layout.fill = '\t';
  return layout;
}

// The members of an object that Config reads or edits have the right types from parse() on.
void check(const Node& root) {
  (void)root.members();
  for (const auto& [key, value] : root.nullable("annotations").members()) (void)value.text();
  (void)root.nullable("process").nullable("capabilities").nullable("bounding").texts();
  (void)root.nullable("linux").nullable("seccomp").members();
  const Node hooks = root.nullable("hooks");
  for (const std::string_view stage : kStages) {
    for (const Node& hook : hooks.nullable(stage).items()) (void)hook.required("path").text();
  }
}

Json* find(Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// The member, made where it is missing or null.
Json& obtain(Json& object, std::string_view key, Json::value_t type) {
  Json& member = object[std::string(key)];
  if (member.is_null()) member = Json(type);
  return member;
}

void erase_if_empty(Json& object, std::string_view key) {
  if (const Json* member = find(object, key); member != nullptr && member->empty()) {
    object.erase(std::string(key));
  }
}

Json hook_json(const Hook& hook) {
  Json json = {{"path", hook.path}, {"args", hook.args}, {"env", hook.env}};
  if (hook.timeout_seconds) json["timeout"] = *hook.timeout_seconds;
  return json;
}

}  // namespace

struct Config::Document {
  Json root;
  Layout layout;
};

Config::Config(std::unique_ptr<Document> document) : document_(std::move(document)) {}
Config::Config(Config&&) noexcept = default;
Config& Config::operator=(Config&&) noexcept = default;
Config::~Config() = default;

Result<Config> Config::parse(std::string_view json) {
  auto root = parse_json(json, kMaxConfig);
  if (!root) return pass_on(std::move(root));
  Node::Finding finding;
  check(Node(*root, finding));
  if (finding.found()) return finding.take();
  return Config(std::make_unique<Document>(Document{std::move(*root), layout_of(json)}));
}

std::map<std::string, std::string> Config::annotations() const {
  std::map<std::string, std::string> annotations;
  if (const Json* found = find(document_->root, "annotations")) {
    for (const auto& [key, value] : found->items()) annotations.emplace(key, value);
  }
  return annotations;
}

std::vector<std::string> Config::bounding_capabilities() const {
  Node::Finding finding;
  const Node root(document_->root, finding);
  return root.nullable("process").nullable("capabilities").nullable("bounding").texts();
}

std::string Config::mount_source(std::string_view destination) const {
  Node::Finding finding;
  const Node root(document_->root, finding);
  std::string source;
  for (const Node& mount : root.nullable("mounts").items()) {
    if (mount.member("destination").text() == destination) source = mount.member("source").text();
  }
  return source;
}

Result<std::optional<SeccompProfile>> Config::seccomp() const {
  Node::Finding finding;
  const Node node = Node(document_->root, finding).nullable("linux").nullable("seccomp");
  if (!node.present()) return std::nullopt;
  SeccompProfile profile = read_profile(node, ProfileContext{});
  if (finding.found()) return finding.take();
  return profile;
}

void Config::set_annotation(const std::string& key, const std::string& value) {
  obtain(document_->root, "annotations", Json::value_t::object)[key] = value;
}

void Config::remove_annotation(const std::string& key) {
  if (Json* annotations = find(document_->root, "annotations")) {
    annotations->erase(key);
    erase_if_empty(document_->root, "annotations");
  }
}

void Config::set_seccomp(const SeccompProfile& profile) {
  Json& linux_section = obtain(document_->root, "linux", Json::value_t::object);
  Json& seccomp = obtain(linux_section, "seccomp", Json::value_t::object);
  Json fresh = profile_json(profile);
  // What a later specification may have added to the section stays.
  for (const auto& [key, value] : seccomp.items()) {
    if (!is_profile_key(key)) fresh[key] = value;
  }
  seccomp = std::move(fresh);
}

void Config::remove_seccomp() {
  if (Json* linux_section = find(document_->root, "linux")) {
    linux_section->erase("seccomp");
    erase_if_empty(document_->root, "linux");
  }
}

void Config::add_hook(std::string_view stage, const Hook& hook) {
  Json& hooks = obtain(document_->root, "hooks", Json::value_t::object);
  Json& list = obtain(hooks, stage, Json::value_t::array);
  Json added = hook_json(hook);
  if (std::find(list.begin(), list.end(), added) == list.end()) list.push_back(std::move(added));
}

void Config::remove_hooks(std::string_view stage, std::string_view path) {
  Json* hooks = find(document_->root, "hooks");
  Json* list = hooks != nullptr ? find(*hooks, stage) : nullptr;
  if (list == nullptr) return;
  const auto removed = std::remove_if(list->begin(), list->end(),
                                      [&](const Json& hook) { return hook["path"] == path; });
  list->erase(removed, list->end());
  erase_if_empty(*hooks, stage);
  erase_if_empty(document_->root, "hooks");
}

std::string Config::seccomp_text() const {
  Json* linux_section = find(document_->root, "linux");
  const Json* seccomp = linux_section != nullptr ? find(*linux_section, "seccomp") : nullptr;
  return seccomp != nullptr ? seccomp->dump(-1, ' ', false, Json::error_handler_t::replace) : "";
}

Result<void> Config::set_seccomp_text(std::string_view json) {
  auto section = parse_json(json, kMaxConfig);
  if (!section) return pass_on(std::move(section), "linux.seccomp");
  if (!section->is_object()) return failure("linux.seccomp: $: must be an object");
  Json& linux_section = obtain(document_->root, "linux", Json::value_t::object);
  linux_section["seccomp"] = std::move(*section);
  return {};
}

std::string Config::print() const {
  const Layout& layout = document_->layout;
  std::string text =
      document_->root.dump(layout.width, layout.fill, false, Json::error_handler_t::replace);
  if (layout.final_newline) text += '\n';
  return text;
}

}  // namespace sidecall::oci
