// What a bridge is started with.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sidecall::bridge {

struct Settings {
  std::string sandbox;  // the container's id
  std::map<std::string, std::string> annotations;
  std::vector<std::string> plugins;  // their sockets, as the policy names them: for messages
};

[[nodiscard]] std::string encode(const Settings& settings);
// Fails on what encode() does not make.
[[nodiscard]] Result<Settings> decode_settings(std::string_view bytes);

}  // namespace sidecall::bridge
