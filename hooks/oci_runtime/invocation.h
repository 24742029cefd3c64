// What an engine asks of an OCI runtime, as far as we must know it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sidecall::oci_runtime {

// Read from a command line as crun 1 and runc 1 take it. Of what neither knows nothing is assumed:
// such a command line goes to the runtime as it is.
struct Invocation {
  static constexpr std::string_view kConfigFile = "config.json";

  bool creates = false;             // "create" or "run": the commands that read a bundle
  std::string bundle = ".";         // its directory
  std::string config{kConfigFile};  // there; any other name, crun's --config, is not in the bundle

  std::string container;  // its id: the first word after the options

  // Where the runtime would write why it failed: engines read it there. "" for standard error.
  enum class LogFormat : std::uint8_t { kText, kJson };
  std::string log;
  LogFormat log_format = LogFormat::kText;

  [[nodiscard]] std::string config_path() const;
};

// `words` is the runtime's command line without the program's name.
[[nodiscard]] Invocation read_invocation(std::span<const char* const> words);

}  // namespace sidecall::oci_runtime
