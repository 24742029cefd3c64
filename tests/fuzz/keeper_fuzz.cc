// What an agent may send its keeper, a packet at a time, with a descriptor or without.
#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "keeper/protocol.h"
#include "keeper/store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  using namespace sidecall::keeper;
  static const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Store store;
  while (!bytes.empty()) {
    const std::string_view one = bytes.substr(0, sizeof(Packet));
    bytes.remove_prefix(one.size());
    const auto packet = packet_from(one);
    if (!packet) continue;
    const Label& label = packet->label;
    if (packet->kind == Packet::Kind::kPut) {
      store.put(label, UniqueFd(::fcntl(null, F_DUPFD_CLOEXEC, 0)));
    } else if (packet->kind == Packet::Kind::kDrop) {
      store.drop(label);
    } else if (packet->kind == Packet::Kind::kForget) {
      store.forget(label.sandbox);
    }
    store.forget_deserted();
    const auto same = [&](const Kept& kept) { return kept.label.names_the_same(label); };
    const auto count = std::count_if(store.items().begin(), store.items().end(), same);
    if (count > 1 || (count != 0 && packet->kind == Packet::Kind::kDrop)) std::abort();
  }
  return 0;
}
