// Between what workers say (emulators/remote_call.h) and what plugins say (emulator.proto).
// Whatever a plugin says is checked here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bridge/settings.h"
#include "emulators/remote_call.h"
#include "sidecall/v1/emulator.pb.h"

namespace sidecall::bridge {

void describe_container(const Settings& settings, v1::Container& container);

// An error says what is wrong with the description.
[[nodiscard]] Result<std::vector<emulators::remote::CallShape>> shapes_of(
    const v1::Description& description);

void write_call(const emulators::remote::Call& call, v1::Call& message);

struct TranslatedAnswer {
  emulators::remote::Answer answer;
  UniqueFd file;  // sealed memory, for an answer that is a remote::File
};
// An error says what is wrong with the answer.
[[nodiscard]] Result<TranslatedAnswer> translate(const v1::ServeResponse& response);

}  // namespace sidecall::bridge
