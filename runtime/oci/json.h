// Strict JSON, for oci/ and policy/ only: no public header includes this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sidecall::oci {

// Members keep their order, so that an edited document differs only where it was edited.
using Json = nlohmann::ordered_json;

// One document and nothing after it. A repeated key, nesting deeper than 64, a whole number beyond
// 64 bits and more than `limit` bytes are errors; each names the JSON path where it was found.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::size_t limit);

// A value and its JSON path, for reading what is hostile without a branch per member. The first
// thing found wrong is kept in the document's Finding; whatever is read afterwards is empty or
// zero. Points into the Json and the Finding, which outlive it.
class Node {
 public:
  // What is wrong with a document, if anything.
  class Finding {
   public:
    [[nodiscard]] bool found() const { return first_.has_value(); }
    [[nodiscard]] tl::unexpected<Error> take() { return tl::unexpected<Error>(*std::move(first_)); }

   private:
    friend class Node;
    std::optional<Error> first_;
  };

  Node(const Json& root, Finding& finding) : Node(&root, "$", finding) {}

  // A member: `member` may be missing, `required` may not, `nullable` may also be null, which is
  // how Go programs write a missing list or map. Of a missing one everything is empty.
  [[nodiscard]] Node member(std::string_view key) const;
  [[nodiscard]] Node required(std::string_view key) const;
  [[nodiscard]] Node nullable(std::string_view key) const;

  [[nodiscard]] bool present() const { return value_ != nullptr; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Json& json() const { return *value_; }  // present() only

  [[nodiscard]] bool boolean(bool fallback = false) const;
  [[nodiscard]] std::string text() const;  // without NUL
  [[nodiscard]] std::uint64_t number(std::uint64_t most) const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] std::vector<Node> items() const;
  [[nodiscard]] std::vector<std::pair<std::string, Node>> members() const;
  [[nodiscard]] std::vector<std::string> texts() const;

  // Any other member is an error.
  void only(std::span<const std::string_view> keys) const;
  // Records that this value is wrong, unless something was found before.
  void reject(std::string_view why) const;

 private:
  Node(const Json* value, std::string path, Finding& finding)
      : value_(value), path_(std::move(path)), finding_(&finding) {}
  [[nodiscard]] bool is(bool right_type, std::string_view what) const;
  const Json* value_;  // null where it is missing
  std::string path_;
  Finding* finding_;
};

// `path`.key, or `path`["key"] where the key is no plain word.
[[nodiscard]] std::string member_path(const std::string& path, std::string_view key);

}  // namespace sidecall::oci
