#include "bridge/translate.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/file.h"

namespace sidecall::bridge {
namespace {

namespace remote = emulators::remote;
using remote::ArgumentShape;

constexpr std::uint32_t kArguments = 6;
constexpr std::int32_t kMaxErrno = 4095;     // MAX_ERRNO of linux/err.h
constexpr std::size_t kMostNameBytes = 249;  // of memfd_create(2)
constexpr std::size_t kMostConditions = 16;

Result<std::uint8_t> architecture_bits(const v1::CallDescription& call) {
  std::uint8_t bits = 0;
  for (const int architecture : call.architectures()) {
    switch (architecture) {
      case v1::ARCHITECTURE_X86_64:
        bits |= 1U << static_cast<unsigned>(kernel::Abi::kX86_64);
        break;
      case v1::ARCHITECTURE_I386:
        bits |= 1U << static_cast<unsigned>(kernel::Abi::kI386);
        break;
      case v1::ARCHITECTURE_AARCH64:
        bits |= 1U << static_cast<unsigned>(kernel::Abi::kAArch64);
        break;
      default:
        return failure("an unknown architecture");
    }
  }
  return bits;
}

v1::Architecture architecture_of(kernel::Abi abi) {
  switch (abi) {
    case kernel::Abi::kX86_64:
      return v1::ARCHITECTURE_X86_64;
    case kernel::Abi::kI386:
      return v1::ARCHITECTURE_I386;
    case kernel::Abi::kAArch64:
      return v1::ARCHITECTURE_AARCH64;
  }
  return v1::ARCHITECTURE_UNSPECIFIED;
}

std::optional<emulators::Compare> comparison(v1::Condition::Operator op) {
  using emulators::Compare;
  switch (op) {
    case v1::Condition::OPERATOR_EQUAL:
      return Compare::kEqual;
    case v1::Condition::OPERATOR_NOT_EQUAL:
      return Compare::kNotEqual;
    case v1::Condition::OPERATOR_LESS:
      return Compare::kLess;
    case v1::Condition::OPERATOR_LESS_OR_EQUAL:
      return Compare::kLessOrEqual;
    case v1::Condition::OPERATOR_GREATER:
      return Compare::kGreater;
    case v1::Condition::OPERATOR_GREATER_OR_EQUAL:
      return Compare::kGreaterOrEqual;
    case v1::Condition::OPERATOR_MASKED_EQUAL:
      return Compare::kMaskedEqual;
    default:
      return std::nullopt;
  }
}

Result<emulators::Conditions> conditions_of(const v1::CallDescription& call) {
  if (call.when_size() > static_cast<int>(kMostConditions)) return failure("too many conditions");
  emulators::Conditions conditions;
  for (const v1::Condition& condition : call.when()) {
    const auto op = comparison(condition.op());
    if (!op || condition.index() >= kArguments) return failure("a condition on no register");
    conditions.push_back({static_cast<std::uint8_t>(condition.index()), *op, condition.value(),
                          condition.value_two()});
  }
  return conditions;
}

std::optional<ArgumentShape::Kind> kind_of(v1::Argument::Kind kind) {
  switch (kind) {
    case v1::Argument::KIND_C_STRING:
      return ArgumentShape::Kind::kCString;
    case v1::Argument::KIND_BYTES:
      return ArgumentShape::Kind::kBytes;
    case v1::Argument::KIND_STRUCT:
      return ArgumentShape::Kind::kStruct;
    case v1::Argument::KIND_SOCKADDR:
      return ArgumentShape::Kind::kSockaddr;
    case v1::Argument::KIND_IOVEC:
      return ArgumentShape::Kind::kIovec;
    default:
      return std::nullopt;
  }
}

Result<ArgumentShape> argument_of(const v1::Argument& argument) {
  const auto kind = kind_of(argument.kind());
  if (!kind) return failure("an argument of no kind");
  if (argument.index() >= kArguments || argument.length_argument() >= kArguments) {
    return failure("an argument beyond the sixth");
  }
  ArgumentShape shape;
  shape.index = static_cast<std::uint8_t>(argument.index());
  shape.kind = *kind;
  shape.length_argument = static_cast<std::uint8_t>(argument.length_argument());
  const bool is_default = *kind == ArgumentShape::Kind::kCString && argument.size() == 0;
  shape.size = is_default ? static_cast<std::uint32_t>(remote::kMostPathBytes) : argument.size();
  shape.read = argument.read();
  shape.write = argument.write();
  shape.optional = argument.optional();
  return shape;
}

Result<remote::CallShape> shape_of(const v1::CallDescription& call) {
  remote::CallShape shape;
  shape.syscall = call.syscall();
  shape.repeatable = call.idempotent();
  shape.wants_caller = call.wants_caller();
  const auto bits = architecture_bits(call);
  if (!bits) return tl::unexpected<Error>(bits.error());
  shape.abis = *bits;
  auto conditions = conditions_of(call);
  if (!conditions) return tl::unexpected<Error>(conditions.error());
  shape.when = std::move(*conditions);
  for (const v1::Argument& argument : call.arguments()) {
    const auto read = argument_of(argument);
    if (!read) return tl::unexpected<Error>(read.error());
    shape.arguments.push_back(*read);
  }
  return shape;
}

// Of a mode that others may read by, as the descriptor's owner is nobody in particular.
Result<UniqueFd> sealed_memory(const v1::File& file) {
  const std::string name = file.name().substr(0, kMostNameBytes);
  UniqueFd memory(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return errno_failure("making a file in memory");
  if (auto written = write_fd(memory.get(), file.contents()); !written) {
    return pass_on(std::move(written), "a file in memory");
  }
  if (::fchmod(memory.get(), 0444) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return errno_failure("sealing a file in memory");
  }
  return memory;
}

Result<remote::OpenFile> open_of(const v1::OpenFile& open) {
  if (open.path().size() >= remote::kMostPathBytes || open.path().find('\0') != std::string::npos) {
    return failure("a path that is longer than 4095 bytes or holds a NUL");
  }
  return remote::OpenFile{open.path(), open.flags(), open.mode()};
}

Result<std::vector<remote::Write>> writes_of(const v1::ServeResponse& response) {
  std::vector<remote::Write> writes;
  std::size_t bytes = 0;
  for (const v1::Write& write : response.writes()) {
    bytes += write.data().size();
    const bool is_known = std::any_of(writes.begin(), writes.end(), [&](const auto& other) {
      return other.index == write.index();
    });
    if (write.index() >= kArguments || is_known || bytes > remote::kMostWriteBytes) {
      return failure("writes beyond 64 KiB, beyond the sixth argument or twice to one");
    }
    writes.push_back({static_cast<std::uint8_t>(write.index()), write.data()});
  }
  return writes;
}

}  // namespace

void describe_container(const Settings& settings, v1::Container& container) {
  container.set_id(settings.sandbox);
  for (const auto& [key, value] : settings.annotations) {
    (*container.mutable_annotations())[key] = value;
  }
}

Result<std::vector<remote::CallShape>> shapes_of(const v1::Description& description) {
  std::vector<remote::CallShape> shapes;
  for (const v1::CallDescription& call : description.calls()) {
    auto shape = shape_of(call);
    if (!shape) return pass_on(std::move(shape), "its description of " + call.syscall());
    shapes.push_back(std::move(*shape));
  }
  if (auto checked = remote::check(shapes); !checked) return pass_on(std::move(checked));
  return shapes;
}

void write_call(const remote::Call& call, v1::Call& message) {
  message.set_id(call.id);
  message.set_syscall(call.syscall);
  message.set_architecture(architecture_of(call.abi));
  message.set_number(call.nr);
  for (const std::uint64_t argument : call.args) message.add_args(argument);
  message.set_tid(call.tid);
  for (const remote::Buffer& buffer : call.buffers) {
    v1::Buffer& added = *message.add_buffers();
    added.set_index(buffer.index);
    added.set_data(buffer.data);
    added.set_length(buffer.length);
    added.set_null(buffer.null);
  }
  if (!call.caller) return;
  v1::Caller& caller = *message.mutable_caller();
  caller.set_fsuid(call.caller->fsuid);
  caller.set_fsgid(call.caller->fsgid);
  for (const std::uint32_t group : call.caller->groups) caller.add_groups(group);
  caller.set_capabilities(call.caller->capabilities);
  caller.set_umask(call.caller->umask);
  caller.set_working_directory(call.caller->working_directory);
}

Result<TranslatedAnswer> translate(const v1::ServeResponse& response) {
  TranslatedAnswer translated;
  remote::Answer& answer = translated.answer;
  answer.id = response.id();
  auto writes = writes_of(response);
  if (!writes) return pass_on(std::move(writes));
  answer.writes = std::move(*writes);
  switch (response.answer_case()) {
    case v1::ServeResponse::kValue:
      answer.given = emulators::Value{response.value()};
      break;
    case v1::ServeResponse::kError:
      if (response.error() < 1 || response.error() > kMaxErrno) {
        return failure("an errno that is not 1 to 4095");
      }
      answer.given = Errno{response.error()};
      break;
    case v1::ServeResponse::kProceed:
      answer.given = emulators::Continue{};
      break;
    case v1::ServeResponse::kFile: {
      auto memory = sealed_memory(response.file());
      if (!memory) return pass_on(std::move(memory));
      translated.file = std::move(*memory);
      answer.given = remote::File{response.file().cloexec()};
      break;
    }
    case v1::ServeResponse::kOpen: {
      auto open = open_of(response.open());
      if (!open) return pass_on(std::move(open));
      answer.given = std::move(*open);
      break;
    }
    case v1::ServeResponse::ANSWER_NOT_SET:
      answer.given = emulators::Value{0};
      break;
  }
  return translated;
}

}  // namespace sidecall::bridge
