// Messages of a fixed size between processes of one release: a packet is the message as it lies in
// memory. A message has a `version`, which its default value carries.
#pragma once

#include <string_view>

#include "base/result.h"

namespace sidecall {

template <typename Message>
[[nodiscard]] std::string_view bytes_of(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

// An error where the size or the version is another's.
template <typename Message>
[[nodiscard]] Result<Message> message_from(std::string_view bytes) {
  Message message;
  if (bytes.size() != sizeof message) return failure("a message of a wrong size");
  bytes.copy(reinterpret_cast<char*>(&message), sizeof message);
  if (message.version != Message().version) return failure("a message of another release");
  return message;
}

}  // namespace sidecall
