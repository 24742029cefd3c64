// An event as a line for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sidecall/v1/agent.pb.h"

namespace sidecall::cli {

// "call-denied" for CALL_DENIED.
[[nodiscard]] std::string event_kind_name(v1::Event::Kind kind);
[[nodiscard]] std::optional<v1::Event::Kind> event_kind(std::string_view name);
// Every name, with commas between.
[[nodiscard]] std::string event_kind_names();

// "2026-12-01T12:00:00.123Z web1 call-denied mknod EPERM tid=42", with a newline.
[[nodiscard]] std::string event_line(const v1::Event& event);

}  // namespace sidecall::cli
