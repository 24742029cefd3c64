// Editing a bundle's config.json: every field that is not asked about keeps its place and value.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oci/seccomp.h"

namespace sidecall::oci {

// One entry of hooks.createRuntime or hooks.poststop.
struct Hook {
  std::string path;
  std::vector<std::string> args;  // args[0] is the program's name
  std::vector<std::string> env;   // given always: without it a hook inherits the runtime's
  std::optional<int> timeout_seconds;
};

class Config {
 public:
  // Errors name the JSON path. At most 16 MiB.
  [[nodiscard]] static Result<Config> parse(std::string_view json);
  Config(Config&&) noexcept;
  Config& operator=(Config&&) noexcept;
  ~Config();

  [[nodiscard]] std::map<std::string, std::string> annotations() const;
  [[nodiscard]] std::vector<std::string> bounding_capabilities() const;  // CAP_*
  // Of the mount that ends up on `destination`; "" where there is none.
  [[nodiscard]] std::string mount_source(std::string_view destination) const;
  // Empty where config.json has no linux.seccomp.
  [[nodiscard]] Result<std::optional<SeccompProfile>> seccomp() const;

  void set_annotation(const std::string& key, const std::string& value);
  void remove_annotation(const std::string& key);
  void set_seccomp(const SeccompProfile& profile);
  void remove_seccomp();
  // `stage` is "createRuntime" or "poststop". Adding a hook that is there already changes nothing;
  // removing takes out those with this path and leaves no empty containers behind.
  void add_hook(std::string_view stage, const Hook& hook);
  void remove_hooks(std::string_view stage, std::string_view path);
  // The member text of linux.seccomp as it stands ("" where there is none), and putting it back:
  // for an edit that can be undone to the byte.
  [[nodiscard]] std::string seccomp_text() const;
  [[nodiscard]] Result<void> set_seccomp_text(std::string_view json);

  // Members in their original order; indented as crun and runc indent their own (crun spec: 4
  // spaces; a tab where the input had tabs; compact where the input was one line).
  [[nodiscard]] std::string print() const;

 private:
  struct Document;
  explicit Config(std::unique_ptr<Document> document);
  std::unique_ptr<Document> document_;
};

}  // namespace sidecall::oci
