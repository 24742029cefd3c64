// What config/systemd/sidecalld.service leaves the agent, and with it workers and helpers.
#include <gtest/gtest.h>
#include <sys/capability.h>

#include <sstream>
#include <string>

#include "base/file.h"
#include "emulators/table.h"
#include "kernel/privileges.h"
#include "policy/compile.h"
#include "policy/policy.h"
#include "worker/dispatcher.h"

namespace sidecall::agent {
namespace {

std::uint64_t bounding_set() {
  const auto text = read_file(SIDECALL_UNIT_FILE, 1U << 16U);
  EXPECT_TRUE(text);
  constexpr std::string_view kKey = "\nCapabilityBoundingSet=";
  const std::size_t at = text->find(kKey);
  EXPECT_NE(at, std::string::npos);
  std::istringstream names(
      text->substr(at + kKey.size(), text->find('\n', at + 1) - at - kKey.size()));
  std::uint64_t bits = 0;
  for (std::string name; names >> name;) {
    cap_value_t value = 0;
    EXPECT_EQ(::cap_from_name(name.c_str(), &value), 0) << name;
    bits |= 1ULL << static_cast<unsigned>(value);
  }
  return bits;
}

void expect_within(const std::string& policy, std::uint64_t bounds) {
  const auto parsed = policy::parse_policy("test", policy);
  ASSERT_TRUE(parsed) << parsed.error().message;
  auto program = policy::compile_program(*parsed);
  ASSERT_TRUE(program) << program.error().message;
  const auto dispatcher = worker::Dispatcher::build(std::move(*program));
  ASSERT_TRUE(dispatcher) << dispatcher.error().message;
  const auto& rights = dispatcher->rights(true);
  const std::uint64_t needed = rights.capabilities | rights.host_capabilities;
  EXPECT_EQ(kernel::capability_names(needed & ~bounds), "none") << policy;
}

TEST(UnitFile, LeavesWhatEmulatorsNeed) {
  const std::uint64_t bounds = bounding_set();
  for (const emulators::Row& row : emulators::table()) {
    expect_within(std::string(row.example), bounds);
  }
  for (const std::string rule :
       {R"("clock", "options": {"mode": "perform"})", R"("chown", "options": {"mode": "perform"})",
        R"("reboot", "options": {"mode": "stop"})"}) {
    expect_within(R"({"rules": [{"emulate": )" + rule + "}]}", bounds);
  }
}

}  // namespace
}  // namespace sidecall::agent
