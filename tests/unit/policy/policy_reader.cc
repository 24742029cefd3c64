// Reads the policy on standard input and says what is wrong with it, for schema_test.py. With
// "--examples" prints each emulator's example, a line each.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/file.h"
#include "emulators/table.h"
#include "policy/policy.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--examples") {
    for (const auto& row : sidecall::emulators::table())
      std::puts(std::string(row.example).c_str());
    return 0;
  }
  const auto text = sidecall::read_fd(STDIN_FILENO, 1U << 20);
  if (!text) return 2;
  const auto policy = sidecall::policy::parse_policy("stdin", *text);
  if (policy) return 0;
  std::puts(policy.error().message.c_str());
  return 1;
}
