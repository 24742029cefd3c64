// The two kinds of failure, kept apart by type.
//
// Errno is an answer: the number that a system call of the target is to fail with.
// Error is an infrastructure failure of sidecall's own: text for a person, chained with context.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace sidecall {

// An errno value. Never 0 where it stands for a failure.
struct Errno {
  int value = 0;
  friend bool operator==(Errno, Errno) = default;
};

// One line: the thing, the cause and, where there is one, the way out. No trailing period or
// newline.
struct Error {
  std::string message;

  // Puts "where: " in front, as the error travels up.
  [[nodiscard]] Error within(std::string_view where) && {
    return Error{std::string(where) + ": " + std::move(message)};
  }
};

template <typename T>
using Result = tl::expected<T, Error>;

// A kernel call's outcome, where the number matters to the caller.
template <typename T>
using SysResult = tl::expected<T, Errno>;

[[nodiscard]] inline tl::unexpected<Error> failure(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message)});
}

[[nodiscard]] inline tl::unexpected<Errno> sys_failure(int number) {
  return tl::unexpected<Errno>(Errno{number});
}

// "EPERM" for 1; "errno 4242" for a number without a name.
[[nodiscard]] std::string errno_name(int number);

// "opening /x: No such file or directory"
[[nodiscard]] tl::unexpected<Error> errno_failure(std::string_view doing, int number = errno);

// Passes a failed Result on, with context, as a failure of another type.
template <typename T>
[[nodiscard]] tl::unexpected<Error> pass_on(Result<T>&& failed, std::string_view where) {
  return tl::unexpected<Error>(std::move(failed).error().within(where));
}
template <typename T>
[[nodiscard]] tl::unexpected<Error> pass_on(Result<T>&& failed) {
  return tl::unexpected<Error>(std::move(failed).error());
}

}  // namespace sidecall
