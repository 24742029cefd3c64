#include "worker/remote_arguments.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace sidecall::worker {
namespace {

namespace remote = emulators::remote;
using remote::ArgumentShape;
using Kind = ArgumentShape::Kind;

class Copier {
 public:
  Copier(kernel::Target& target, kernel::Abi abi, const std::array<std::uint64_t, 6>& args)
      : target_(target), is_32_bit_(abi == kernel::Abi::kI386), args_(args) {}

  SysResult<void> copy(const ArgumentShape& shape) {
    const std::uint64_t address = register_of(shape.index);
    if (address == 0 && shape.optional) {
      if (shape.read) copied_.buffers.push_back({shape.index, "", 0, true});
      return {};
    }
    if (shape.kind == Kind::kCString) return copy_string(shape, address);
    auto pieces = pieces_of(shape, address);
    if (!pieces) return tl::unexpected<Errno>(pieces.error());
    if (shape.read) {
      if (auto read = copy_pieces(shape.index, *pieces); !read) return read;
    }
    if (shape.write) copied_.rooms.push_back({shape.index, std::move(*pieces)});
    return {};
  }

  Copied take() { return std::move(copied_); }

 private:
  using Pieces = std::vector<Room::Piece>;

  [[nodiscard]] std::uint64_t register_of(std::uint8_t index) const {
    return is_32_bit_ ? args_[index] & UINT32_MAX : args_[index];
  }

  SysResult<void> copy_string(const ArgumentShape& shape, std::uint64_t address) {
    auto text = target_.read_string(address, shape.size);
    if (!text) return tl::unexpected<Errno>(text.error());
    const std::size_t length = text->size();
    if (length > left_) return sys_failure(ENAMETOOLONG);
    left_ -= length;
    copied_.buffers.push_back({shape.index, std::move(*text), length, false});
    return {};
  }

  SysResult<Pieces> pieces_of(const ArgumentShape& shape, std::uint64_t address) {
    if (shape.kind == Kind::kStruct) return Pieces{{address, shape.size}};
    const std::uint64_t length = register_of(shape.length_argument);
    if (shape.kind == Kind::kBytes) return Pieces{{address, length}};
    if (shape.kind == Kind::kIovec) return iovec_pieces(address, length);
    // socklen_t, which the kernel takes as an int: move_addr_to_kernel().
    const auto cut = static_cast<std::uint32_t>(length);
    if (cut > remote::kMostSockaddrBytes) return sys_failure(EINVAL);
    return Pieces{{address, cut}};
  }

  // As import_iovec() takes them.
  SysResult<Pieces> iovec_pieces(std::uint64_t address, std::uint64_t count) {
    if (count > remote::kMostIovecs) return sys_failure(EINVAL);
    const std::size_t word = is_32_bit_ ? 4 : 8;
    std::vector<std::byte> memory(count * 2 * word);
    if (!memory.empty()) {
      if (auto read = target_.read(address, memory); !read) {
        return tl::unexpected<Errno>(read.error());
      }
    }
    const auto word_at = [&](std::size_t index) {
      std::uint64_t value = 0;  // little-endian, as all ABIs served are
      std::memcpy(&value, memory.data() + index * word, word);
      return value;
    };
    Pieces pieces(count);
    const std::uint64_t most = is_32_bit_ ? INT32_MAX : INT64_MAX;
    for (std::size_t index = 0; index < count; ++index) {
      pieces[index] = {word_at(2 * index), word_at(2 * index + 1)};
      if (pieces[index].length > most) return sys_failure(EINVAL);
    }
    return pieces;
  }

  SysResult<void> copy_pieces(std::uint8_t index, const Pieces& pieces) {
    remote::Buffer buffer;
    buffer.index = index;
    for (const Room::Piece& piece : pieces) {
      buffer.length += std::min(piece.length, UINT64_MAX - buffer.length);
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(piece.length, left_));
      if (count == 0) continue;
      const std::size_t before = buffer.data.size();
      buffer.data.resize(before + count);
      const auto into = std::as_writable_bytes(std::span(buffer.data)).subspan(before);
      if (auto read = target_.read(piece.address, into); !read) return read;
      left_ -= count;
    }
    copied_.buffers.push_back(std::move(buffer));
    return {};
  }

  kernel::Target& target_;
  bool is_32_bit_;
  const std::array<std::uint64_t, 6>& args_;
  std::size_t left_ = remote::kMostBufferBytes;
  Copied copied_;
};

SysResult<void> write_room(kernel::Target& target, const Room& room, std::string_view data) {
  for (const Room::Piece& piece : room.pieces) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(piece.length, data.size()));
    if (count == 0) continue;
    const std::span part(data.data(), count);
    if (auto written = target.write(piece.address, std::as_bytes(part)); !written) return written;
    data.remove_prefix(count);
  }
  if (!data.empty()) return sys_failure(EFAULT);
  return {};
}

bool has_room(const Room& room, std::size_t bytes) {
  std::uint64_t length = 0;
  for (const Room::Piece& piece : room.pieces) {
    length += std::min(piece.length, UINT64_MAX - length);
  }
  return bytes <= length;
}

}  // namespace

SysResult<Copied> copy_arguments(kernel::Target& target, kernel::Abi abi,
                                 const std::array<std::uint64_t, 6>& args,
                                 const remote::CallShape& shape) {
  Copier copier(target, abi, args);
  for (const ArgumentShape& argument : shape.arguments) {
    if (auto copied = copier.copy(argument); !copied) {
      return tl::unexpected<Errno>(copied.error());
    }
  }
  return copier.take();
}

SysResult<void> write_results(kernel::Target& target, std::span<const Room> rooms,
                              std::span<const remote::Write> writes) {
  const auto room_of = [&](const remote::Write& write) {
    return std::find_if(rooms.begin(), rooms.end(),
                        [&](const Room& room) { return room.index == write.index; });
  };
  for (const remote::Write& write : writes) {
    const auto room = room_of(write);
    if (room == rooms.end() || !has_room(*room, write.data.size())) return sys_failure(EFAULT);
  }
  for (const remote::Write& write : writes) {
    if (auto written = write_room(target, *room_of(write), write.data); !written) return written;
  }
  return {};
}

SysResult<remote::Caller> caller_of(kernel::Target& target) {
  const auto ids = target.credentials();
  if (!ids) return tl::unexpected<Errno>(ids.error());
  const auto is_ours = target.in_sandbox_user_namespace();
  if (!is_ours) return tl::unexpected<Errno>(is_ours.error());
  auto directory = target.working_directory_name();
  if (!directory) return tl::unexpected<Errno>(directory.error());
  remote::Caller caller{.fsuid = ids->fsuid,
                        .fsgid = ids->fsgid,
                        .groups = {},
                        .capabilities = *is_ours ? ids->effective_capabilities : 0,
                        .umask = ids->umask,
                        .working_directory = std::move(*directory)};
  const auto groups =
      std::span(ids->groups).first(std::min(ids->groups.size(), remote::kMostGroups));
  caller.groups.assign(groups.begin(), groups.end());
  return caller;
}

}  // namespace sidecall::worker
