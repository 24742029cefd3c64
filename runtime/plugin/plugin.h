// Writing a plugin in C++: what it serves and a function for each call. emulator.proto says what
// descriptions, calls and answers mean; examples/emulator.cc is a whole one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sidecall/v1/emulator.pb.h"

namespace sidecall::plugin {

// Descriptions of arguments, by their number from 0.
[[nodiscard]] v1::Argument reads_string(std::uint32_t index);
[[nodiscard]] v1::Argument reads_struct(std::uint32_t index, std::uint32_t size);
[[nodiscard]] v1::Argument writes_struct(std::uint32_t index, std::uint32_t size);
// As many bytes as the argument `length` says.
[[nodiscard]] v1::Argument reads_bytes(std::uint32_t index, std::uint32_t length);
[[nodiscard]] v1::Argument writes_bytes(std::uint32_t index, std::uint32_t length);

// Answers; the call's id is filled in by whoever sends them.
[[nodiscard]] v1::ServeResponse value(std::int64_t value);
[[nodiscard]] v1::ServeResponse error(int errno_value);
[[nodiscard]] v1::ServeResponse proceed();
[[nodiscard]] v1::ServeResponse file(std::string contents, bool cloexec);
[[nodiscard]] v1::ServeResponse open(std::string path, int flags, unsigned mode = 0);
// The same answer, which also writes `bytes` to an argument.
[[nodiscard]] v1::ServeResponse with(v1::ServeResponse answer, std::uint32_t index,
                                     std::string_view bytes);

// What the argument pointed to; empty where it was null or is none that the description reads.
[[nodiscard]] std::string_view bytes_of(const v1::Call& call, std::uint32_t index);

// Called by many threads at once: one for each container.
using Handler =
    std::function<v1::ServeResponse(const v1::Call& call, const v1::Container& container)>;

// One kind of call. `description` has at least the syscall's name.
struct Served {
  v1::CallDescription description;
  Handler handler;
};
[[nodiscard]] Served serves(std::string syscall, std::vector<v1::Argument> arguments,
                            bool idempotent, Handler handler);

// Serves on the Unix socket `path`, instead of whoever did before, until the process ends. An error
// is one of starting.
[[nodiscard]] Result<void> run(const std::string& path, const std::vector<Served>& served);

}  // namespace sidecall::plugin
