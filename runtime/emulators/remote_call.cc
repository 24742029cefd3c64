#include "emulators/remote_call.h"

#include <algorithm>
#include <bitset>
#include <cstring>

#include "emulators/wire.h"

namespace sidecall::emulators::remote {
namespace {

using wire::Reader;
using wire::Writer;

constexpr std::size_t kMostNameBytes = 64;
constexpr std::size_t kMostConditions = 16;
constexpr std::size_t kMostArguments = 6;
constexpr int kMaxErrno = 4095;  // MAX_ERRNO of linux/err.h
// A call's message begins with its kind, id and epoch.
constexpr std::size_t kEpochOffset = sizeof(std::uint8_t) + sizeof(std::uint64_t);
constexpr std::size_t kCallOffset = kEpochOffset + sizeof(std::uint32_t);

void flag(Writer& out, bool value) {
  out.number(static_cast<std::uint8_t>(value));
}

bool flag(Reader& in) {
  const auto value = in.number<std::uint8_t>();
  in.require(value <= 1);
  return value == 1;
}

std::string bounded_text(Reader& in, std::size_t most) {
  std::string text = in.text();
  in.require(text.size() <= most);
  return text;
}

// The length of a sequence.
std::size_t bounded_count(Reader& in, std::size_t most) {
  const std::size_t count = in.count();
  in.require(count <= most);
  return in.ok() ? count : 0;
}

std::uint8_t argument_number(Reader& in) {
  const auto index = in.number<std::uint8_t>();
  in.require(index < kMostArguments);
  return index;
}

void put(Writer& out, const CallShape& shape) {
  out.text(shape.syscall);
  out.number(shape.abis);
  wire::write_conditions(out, shape.when);
  out.count(shape.arguments.size());
  for (const ArgumentShape& argument : shape.arguments) {
    out.number(argument.index);
    out.number(static_cast<std::uint8_t>(argument.kind));
    out.number(argument.length_argument);
    out.number(argument.size);
    flag(out, argument.read);
    flag(out, argument.write);
    flag(out, argument.optional);
  }
  flag(out, shape.repeatable);
  flag(out, shape.wants_caller);
}

CallShape take_shape(Reader& in) {
  CallShape shape;
  shape.syscall = bounded_text(in, kMostNameBytes);
  shape.abis = in.number<std::uint8_t>();
  shape.when = wire::read_conditions(in);
  shape.arguments.resize(bounded_count(in, kMostArguments));
  for (ArgumentShape& argument : shape.arguments) {
    argument.index = argument_number(in);
    argument.kind = in.enumerator(ArgumentShape::Kind::kIovec);
    argument.length_argument = argument_number(in);
    argument.size = in.number<std::uint32_t>();
    argument.read = flag(in);
    argument.write = flag(in);
    argument.optional = flag(in);
  }
  shape.repeatable = flag(in);
  shape.wants_caller = flag(in);
  return shape;
}

void put(Writer& out, const Described& described) {
  out.number(described.epoch);
  out.count(described.shapes.size());
  for (const CallShape& shape : described.shapes) put(out, shape);
}

Described take_described(Reader& in) {
  Described described;
  described.epoch = in.number<std::uint32_t>();
  described.shapes.resize(bounded_count(in, kMostShapes));
  for (CallShape& shape : described.shapes) shape = take_shape(in);
  in.require(in.ok() && check(described.shapes).has_value());
  return described;
}

void put(Writer&, const Lost&) {}

void put(Writer& out, const Caller& caller) {
  out.number(caller.fsuid);
  out.number(caller.fsgid);
  out.count(caller.groups.size());
  for (const std::uint32_t group : caller.groups) out.number(group);
  out.number(caller.capabilities);
  out.number(caller.umask);
  out.text(caller.working_directory);
}

Caller take_caller(Reader& in) {
  Caller caller;
  caller.fsuid = in.number<std::uint32_t>();
  caller.fsgid = in.number<std::uint32_t>();
  caller.groups.resize(bounded_count(in, kMostGroups));
  for (std::uint32_t& group : caller.groups) group = in.number<std::uint32_t>();
  caller.capabilities = in.number<std::uint64_t>();
  caller.umask = in.number<std::uint32_t>();
  caller.working_directory = bounded_text(in, kMostPathBytes);
  return caller;
}

void put(Writer& out, const Call& call) {
  out.number(call.id);
  out.number(call.epoch);
  out.text(call.syscall);
  out.number(static_cast<std::uint8_t>(call.abi));
  out.number(call.nr);
  for (const std::uint64_t argument : call.args) out.number(argument);
  out.number(call.tid);
  out.count(call.buffers.size());
  for (const Buffer& buffer : call.buffers) {
    out.number(buffer.index);
    out.text(buffer.data);
    out.number(buffer.length);
    flag(out, buffer.null);
  }
  flag(out, call.caller.has_value());
  if (call.caller) put(out, *call.caller);
}

Call take_call(Reader& in) {
  Call call;
  call.id = in.number<std::uint64_t>();
  call.epoch = in.number<std::uint32_t>();
  call.syscall = bounded_text(in, kMostNameBytes);
  call.abi = in.enumerator(kernel::Abi::kAArch64);
  call.nr = in.number<std::int32_t>();
  for (std::uint64_t& argument : call.args) argument = in.number<std::uint64_t>();
  call.tid = in.number<std::int32_t>();
  call.buffers.resize(bounded_count(in, kMostArguments));
  std::size_t bytes = 0;
  for (Buffer& buffer : call.buffers) {
    buffer.index = argument_number(in);
    buffer.data = in.text();
    buffer.length = in.number<std::uint64_t>();
    buffer.null = flag(in);
    bytes += buffer.data.size();
  }
  in.require(bytes <= kMostBufferBytes);
  if (flag(in)) call.caller = take_caller(in);
  return call;
}

void put(Writer& out, const Cancelled& cancelled) {
  out.number(cancelled.id);
}

void put(Writer& out, const Answer& answer) {
  out.number(answer.id);
  out.number(static_cast<std::uint8_t>(answer.given.index()));
  if (const auto* value = std::get_if<Value>(&answer.given)) {
    out.number(value->value);
  } else if (const auto* error = std::get_if<Errno>(&answer.given)) {
    out.number(static_cast<std::int32_t>(error->value));
  } else if (const auto* file = std::get_if<File>(&answer.given)) {
    flag(out, file->cloexec);
  } else if (const auto* open = std::get_if<OpenFile>(&answer.given)) {
    out.text(open->path);
    out.number(open->flags);
    out.number(open->mode);
  }
  out.count(answer.writes.size());
  for (const Write& write : answer.writes) {
    out.number(write.index);
    out.text(write.data);
  }
}

OpenFile take_open(Reader& in) {
  OpenFile open;
  open.path = in.text();
  in.require(open.path.size() < kMostPathBytes && open.path.find('\0') == std::string::npos);
  open.flags = in.number<std::uint32_t>();
  open.mode = in.number<std::uint32_t>();
  return open;
}

Answer take_answer(Reader& in) {
  Answer answer;
  answer.id = in.number<std::uint64_t>();
  switch (in.number<std::uint8_t>()) {
    case 0:
      answer.given = Value{in.number<std::int64_t>()};
      break;
    case 1: {
      const auto number = in.number<std::int32_t>();
      in.require(number > 0 && number <= kMaxErrno);
      answer.given = Errno{number};
      break;
    }
    case 2:
      answer.given = Continue{};
      break;
    case 3:
      answer.given = File{.cloexec = flag(in)};
      break;
    case 4:
      answer.given = take_open(in);
      break;
    default:
      in.require(false);
  }
  answer.writes.resize(bounded_count(in, kMostArguments));
  std::size_t bytes = 0;
  for (Write& write : answer.writes) {
    write.index = argument_number(in);
    write.data = in.text();
    bytes += write.data.size();
  }
  in.require(bytes <= kMostWriteBytes);
  return answer;
}

template <typename Variant>
std::string encode_one_of(const Variant& message) {
  Writer out;
  out.number(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& each) { put(out, each); }, message);
  return out.take();
}

template <typename Message>
Result<Message> finished(const Reader& in, Message message) {
  if (!in.ok() || !in.at_end()) {
    return failure("a message between worker and bridge is malformed");
  }
  return message;
}

Result<void> check(const CallShape& shape) {
  const auto wrong = [&](std::string_view what) {
    return failure("the description of " + shape.syscall + " " + std::string(what));
  };
  if (shape.when.size() > kMostConditions) return wrong("has too many conditions");
  std::bitset<kMostArguments> seen;
  for (const ArgumentShape& argument : shape.arguments) {
    using Kind = ArgumentShape::Kind;
    if (argument.index >= kMostArguments || argument.length_argument >= kMostArguments) {
      return wrong("names an argument beyond the sixth");
    }
    if (seen.test(argument.index)) return wrong("describes an argument twice");
    seen.set(argument.index);
    if (!argument.read && !argument.write) {
      return wrong("has an argument that is neither read nor written");
    }
    const bool is_string = argument.kind == Kind::kCString;
    if (is_string && (argument.write || argument.size == 0 || argument.size > kMostPathBytes)) {
      return wrong("has a string that is written, or longer than 4096 bytes");
    }
    if (argument.kind == Kind::kStruct &&
        (argument.size == 0 || argument.size > kMostBufferBytes)) {
      return wrong("has a structure that is not of 1 to 65536 bytes");
    }
  }
  return {};
}

}  // namespace

std::string encode(const ToBridge& message) {
  return encode_one_of(message);
}

std::string encode(const FromBridge& message) {
  return encode_one_of(message);
}

Result<ToBridge> decode_to_bridge(std::string_view bytes) {
  Reader in(bytes);
  const auto kind = in.number<std::uint8_t>();
  if (kind == 0) {
    auto call = take_call(in);
    return finished<ToBridge>(in, std::move(call));
  }
  in.require(kind == 1);
  const Cancelled cancelled{.id = in.number<std::uint64_t>()};
  return finished<ToBridge>(in, cancelled);
}

Result<FromBridge> decode_from_bridge(std::string_view bytes) {
  Reader in(bytes);
  switch (in.number<std::uint8_t>()) {
    case 0: {
      auto described = take_described(in);
      return finished<FromBridge>(in, std::move(described));
    }
    case 1:
      return finished<FromBridge>(in, Lost{});
    case 2: {
      auto answer = take_answer(in);
      return finished<FromBridge>(in, std::move(answer));
    }
    default:
      in.require(false);
      return finished<FromBridge>(in, Lost{});
  }
}

void set_epoch(std::string& call, std::uint32_t epoch) {
  if (call.size() < kCallOffset) return;
  std::memcpy(call.data() + kEpochOffset, &epoch, sizeof epoch);
}

bool is_same_call(std::string_view one, std::string_view other) {
  return one.size() > kCallOffset && other.size() > kCallOffset &&
         one.substr(kCallOffset) == other.substr(kCallOffset);
}

Result<void> check(const std::vector<CallShape>& shapes) {
  if (shapes.size() > kMostShapes) return failure("a description of more than 64 calls");
  for (const CallShape& shape : shapes) {
    if (shape.syscall.empty() || shape.syscall.size() > kMostNameBytes) {
      return failure("a description without a system call's name");
    }
    if (auto checked = check(shape); !checked) return checked;
  }
  return {};
}

}  // namespace sidecall::emulators::remote
