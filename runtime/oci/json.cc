#include "oci/json.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "oci/suggest.h"

namespace sidecall::oci {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kShownLength = 64;

// Outside text as it is shown in a message: short, one line, quoted.
std::string shown(std::string_view text) {
  const bool cut = text.size() > kShownLength;
  std::string result = Json(std::string(text.substr(0, kShownLength)))
                           .dump(-1, ' ', true, Json::error_handler_t::replace);
  if (cut) result.insert(result.size() - 1, "...");
  return result;
}

// Builds the document itself, since the library's own builder takes the last of repeated keys.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}
  [[nodiscard]] Result<Json> take() {
    if (error_) return tl::unexpected<Error>(*std::move(error_));
    return std::move(root_);
  }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    // The library falls back to floating point where a whole number does not fit.
    if (text.find_first_of(".eE") == std::string::npos) return fail("number beyond 64 bits");
    return add(value);
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return fail("binary data"); }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Frame& frame = frames_.back();
    frame.key = std::move(name);
    if (!frame.keys.insert(frame.key).second) return fail("repeated key");
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const Json::exception&) override {
    const std::string_view before = text_.substr(0, position > 0 ? position - 1 : 0);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;
    return fail("not JSON at line " + std::to_string(line) + ", column " + std::to_string(column) +
                (token.empty() ? ": it ends early" : ": near " + shown(token)));
  }

 private:
  struct Frame {
    Json value;
    std::string key;                       // object: the member being read
    std::unordered_set<std::string> keys;  // object: those seen; the library's look-up is linear
  };

  bool fail(std::string_view why) {
    std::string path = "$";
    for (const Frame& frame : frames_) {
      if (frame.value.is_array()) {
        path += "[" + std::to_string(frame.value.size()) + "]";
      } else if (!frame.keys.empty()) {
        path = member_path(path, frame.key);
      }
    }
    error_ = Error{path + ": " + std::string(why)};
    return false;
  }
  bool add(Json value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Frame& frame = frames_.back();
    if (auto* object = frame.value.get_ptr<Json::object_t*>()) {
      static_cast<Json::object_t::Container&>(*object).emplace_back(frame.key, std::move(value));
    } else {
      frame.value.push_back(std::move(value));
    }
    return true;
  }
  bool open(Json empty) {
    if (frames_.size() >= kMaxDepth) {
      return fail("nested deeper than " + std::to_string(kMaxDepth));
    }
    frames_.push_back(Frame{std::move(empty), {}, {}});
    return true;
  }
  bool close() {
    Json value = std::move(frames_.back().value);
    frames_.pop_back();
    return add(std::move(value));
  }

  std::string_view text_;
  std::vector<Frame> frames_;  // the containers that are open
  Json root_;
  std::optional<Error> error_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, std::size_t limit) {
  if (text.size() > limit) {
    return failure("$: " + std::to_string(text.size()) + " bytes, more than the " +
                   std::to_string(limit) + " allowed");
  }
  // The library takes a NUL for the end and would not see what is behind it.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    return failure("$: not JSON: a NUL byte at offset " + std::to_string(nul));
  }
  Builder builder(text);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

std::string member_path(const std::string& path, std::string_view key) {
  const bool plain =
      !key.empty() && key.size() <= kShownLength && std::all_of(key.begin(), key.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '$';
      });
  return plain ? path + "." + std::string(key) : path + "[" + shown(key) + "]";
}

Node Node::member(std::string_view key) const {
  const Json* found = nullptr;
  if (present() && is(value_->is_object(), "an object")) {
    const auto at = value_->find(key);
    if (at != value_->end()) found = &*at;
  }
  return {found, member_path(path_, key), *finding_};
}

Node Node::required(std::string_view key) const {
  Node found = member(key);
  if (!found.present()) found.reject("missing");
  return found;
}

Node Node::nullable(std::string_view key) const {
  Node found = member(key);
  if (found.present() && found.value_->is_null()) found.value_ = nullptr;
  return found;
}

bool Node::boolean(bool fallback) const {
  if (!present() || !is(value_->is_boolean(), "true or false")) return fallback;
  return value_->get<bool>();
}

std::string Node::text() const {
  if (!present() || !is(value_->is_string(), "a string")) return {};
  const auto& text = value_->get_ref<const std::string&>();
  if (text.find('\0') != std::string::npos) {
    reject("a string with a NUL character");
    return {};
  }
  return text;
}

std::uint64_t Node::number(std::uint64_t most) const {
  if (!present() || !is(value_->is_number_unsigned(), "a whole number from 0 on")) return 0;
  const auto number = value_->get<std::uint64_t>();
  if (number > most) {
    reject("more than " + std::to_string(most));
    return 0;
  }
  return number;
}

std::int64_t Node::integer() const {
  if (!present() || !is(value_->is_number_integer(), "a whole number")) return 0;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > kMost) {
    reject("more than " + std::to_string(kMost));
    return 0;
  }
  return value_->get<std::int64_t>();
}

std::vector<Node> Node::items() const {
  std::vector<Node> items;
  if (!present() || !is(value_->is_array(), "a list")) return items;
  items.reserve(value_->size());
  for (const Json& item : *value_) {
    items.push_back(Node(&item, path_ + "[" + std::to_string(items.size()) + "]", *finding_));
  }
  return items;
}

std::vector<std::pair<std::string, Node>> Node::members() const {
  std::vector<std::pair<std::string, Node>> members;
  if (!present() || !is(value_->is_object(), "an object")) return members;
  members.reserve(value_->size());
  for (const auto& [key, value] : value_->items()) {
    members.emplace_back(key, Node(&value, member_path(path_, key), *finding_));
  }
  return members;
}

std::vector<std::string> Node::texts() const {
  std::vector<std::string> texts;
  for (const Node& item : items()) texts.push_back(item.text());
  return texts;
}

void Node::only(std::span<const std::string_view> keys) const {
  for (const auto& [key, value] : members()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      value.reject("unknown key" + did_you_mean(key, keys));
    }
  }
}

void Node::reject(std::string_view why) const {
  if (!finding_->found()) finding_->first_ = Error{path_ + ": " + std::string(why)};
}

bool Node::is(bool right_type, std::string_view what) const {
  if (!right_type) reject("must be " + std::string(what));
  return right_type;
}

}  // namespace sidecall::oci
