// A bridge or a worker in somebody else's hands: any bytes to the decoders of the other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "emulators/remote_call.h"
#include "support/fake_target.h"
#include "worker/remote_answer.h"
#include "worker/remote_arguments.h"

namespace {

using namespace sidecall;  // NOLINT(google-build-using-namespace): a program's main file

// Copies by every shape that was decoded, from memory that is partly there.
void copy_by(const emulators::remote::Described& described) {
  for (const auto& shape : described.shapes) {
    support::FakeTarget target;
    target.map(0x1000, std::string(0x200, '\1'));
    const auto copied = worker::copy_arguments(target, kernel::Abi::kX86_64,
                                               {0x1000, 0x1100, 16, 0x1180, 2, 0x11f0}, shape);
    if (!copied) continue;
    std::size_t bytes = 0;
    for (const auto& buffer : copied->buffers) bytes += buffer.data.size();
    if (bytes > emulators::remote::kMostBufferBytes) std::abort();
  }
}

void give(const emulators::remote::Answer& answer) {
  support::FakeTarget target;
  target.map(0x1000, std::string(64, '.'));
  const std::vector<worker::Room> rooms = {{1, {{0x1000, 16}, {0x1020, 16}}}};
  const emulators::Remote rule{.errno_value = EIO, .may_continue = false};
  const auto outcome = worker::outcome_of(target, rule, rooms, answer, UniqueFd());
  // What the policy does not allow is not given, and what has no room is not written.
  if (outcome && std::holds_alternative<emulators::Continue>(*outcome)) std::abort();
  if (target.bytes_at(0x1010, 16) != std::string(16, '.')) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto message = emulators::remote::decode_from_bridge(bytes)) {
    if (encode(*message) != bytes) std::abort();
    if (const auto* described = std::get_if<emulators::remote::Described>(&*message)) {
      copy_by(*described);
    } else if (const auto* answer = std::get_if<emulators::remote::Answer>(&*message)) {
      give(*answer);
    }
  }
  if (const auto message = emulators::remote::decode_to_bridge(bytes)) {
    if (encode(*message) != bytes) std::abort();
  }
  return 0;
}
