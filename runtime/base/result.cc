#include "base/result.h"

#include <cstring>

namespace sidecall {

std::string errno_name(int number) {
  if (const char* name = strerrorname_np(number); name != nullptr && number != 0) return name;
  return "errno " + std::to_string(number);
}

tl::unexpected<Error> errno_failure(std::string_view doing, int number) {
  const char* text = strerrordesc_np(number);
  return failure(std::string(doing) + ": " + (text != nullptr ? text : errno_name(number)));
}

}  // namespace sidecall
