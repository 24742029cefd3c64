#include "emulators/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace sidecall::emulators {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// One of everything.
Program sample() {
  Program program{.policy = "builds",
                  .sync_wake_up = false,
                  .limits = {.calls = 7, .threads = 9, .memory_mib = 77, .wait_seconds = 3},
                  .instances = {},
                  .routes = {}};
  program.instances.push_back({.emulator = "mknod",
                               .options = {{"a", true},
                                           {"b", std::int64_t{-5}},
                                           {"c", std::string("text\0with NUL", 13)},
                                           {"d", std::vector<std::string>{"", "two"}}}});
  program.instances.push_back({.emulator = "uname", .options = {}});
  program.routes.push_back(
      {.abi = kernel::Abi::kAArch64,
       .nr = 33,
       .name = "mknodat",
       .rules = {{.when = {{.index = 5,
                            .op = Compare::kMaskedEqual,
                            .value = ~0ULL,
                            .value_two = 1ULL << 63U}},
                  .action = Rule::Action::kErrno,
                  .number = 4095},
                 {.when = {}, .action = Rule::Action::kEmulate, .instance = 1, .member = 1}}});
  program.routes.push_back({.abi = kernel::Abi::kI386,
                            .nr = 2147483647,
                            .name = "",
                            .rules = {{.when = {}, .action = Rule::Action::kValue, .number = -1}}});
  program.plugins = {"/run/one.sock", "/run/two.sock"};
  program.remotes = {{.plugin = 1,
                      .deadline_ms = 500,
                      .absent = Remote::Absent::kWait,
                      .errno_value = 4095,
                      .may_continue = true}};
  program.routes.push_back({.abi = kernel::Abi::kX86_64,
                            .nr = 0,
                            .name = "read",
                            .rules = {{.when = {}, .action = Rule::Action::kRemote}}});
  return program;
}

void expect_same(const Program& a, const Program& b) {
  EXPECT_EQ(a.policy, b.policy);
  EXPECT_EQ(a.sync_wake_up, b.sync_wake_up);
  EXPECT_EQ(a.limits, b.limits);
  ASSERT_EQ(a.instances.size(), b.instances.size());
  for (std::size_t at = 0; at < a.instances.size(); ++at) {
    EXPECT_EQ(a.instances[at].emulator, b.instances[at].emulator);
    EXPECT_EQ(a.instances[at].options, b.instances[at].options);
  }
  EXPECT_EQ(a.plugins, b.plugins);
  ASSERT_EQ(a.remotes.size(), b.remotes.size());
  for (std::size_t at = 0; at < a.remotes.size(); ++at) {
    EXPECT_EQ(a.remotes[at].plugin, b.remotes[at].plugin);
    EXPECT_EQ(a.remotes[at].deadline_ms, b.remotes[at].deadline_ms);
    EXPECT_EQ(a.remotes[at].absent, b.remotes[at].absent);
    EXPECT_EQ(a.remotes[at].errno_value, b.remotes[at].errno_value);
    EXPECT_EQ(a.remotes[at].may_continue, b.remotes[at].may_continue);
  }
  ASSERT_EQ(a.routes.size(), b.routes.size());
  for (std::size_t at = 0; at < a.routes.size(); ++at) {
    EXPECT_EQ(a.routes[at].abi, b.routes[at].abi);
    EXPECT_EQ(a.routes[at].nr, b.routes[at].nr);
    EXPECT_EQ(a.routes[at].name, b.routes[at].name);
    ASSERT_EQ(a.routes[at].rules.size(), b.routes[at].rules.size());
    for (std::size_t rule = 0; rule < a.routes[at].rules.size(); ++rule) {
      const Rule& left = a.routes[at].rules[rule];
      const Rule& right = b.routes[at].rules[rule];
      EXPECT_EQ(left.when, right.when);
      EXPECT_EQ(left.action, right.action);
      EXPECT_EQ(left.number, right.number);
      EXPECT_EQ(left.instance, right.instance);
      EXPECT_EQ(left.member, right.member);
    }
  }
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  std::string text() {
    std::string text(below(20), '\0');
    for (char& c : text) c = static_cast<char>(below(256));
    return text;
  }
  OptionValue option() {
    switch (below(4)) {
      case 0:
        return below(2) == 0;
      case 1:
        return static_cast<std::int64_t>(engine_());
      case 2:
        return text();
      default: {
        std::vector<std::string> list(below(4));
        for (std::string& item : list) item = text();
        return list;
      }
    }
  }
  Rule rule(std::size_t instances) {
    Rule rule;
    rule.when.resize(below(4));
    for (Condition& condition : rule.when) {
      condition = {.index = static_cast<std::uint8_t>(below(6)),
                   .op = static_cast<Compare>(below(7)),
                   .value = engine_(),
                   .value_two = engine_()};
    }
    rule.action = static_cast<Rule::Action>(below(instances == 0 ? 3 : 4));
    rule.number = 1 + static_cast<std::int64_t>(below(4095));
    rule.instance = instances == 0 ? 0 : static_cast<std::uint32_t>(below(instances));
    rule.member = static_cast<std::uint32_t>(engine_());
    return rule;
  }
  Program program() {
    Program program{.policy = text(),
                    .sync_wake_up = below(2) == 0,
                    .limits = {},
                    .instances = {},
                    .plugins = {},
                    .remotes = {},
                    .routes = {}};
    program.limits.calls = static_cast<std::uint32_t>(1 + below(1000));
    program.instances.resize(below(4));
    for (Instance& instance : program.instances) {
      instance.emulator = text();
      for (std::uint64_t left = below(4); left > 0; --left) instance.options[text()] = option();
    }
    program.routes.resize(below(5));
    for (Route& route : program.routes) {
      route.abi = static_cast<kernel::Abi>(below(3));
      route.nr = static_cast<std::int32_t>(engine_());
      route.name = text();
      route.rules.resize(below(4));
      for (Rule& each : route.rules) each = rule(program.instances.size());
    }
    return program;
  }

 private:
  std::mt19937_64 engine_;
};

TEST(Program, RoundTrips) {
  const Program program = sample();
  const auto decoded = decode(encode(program));
  ASSERT_TRUE(decoded) << decoded.error().message;
  expect_same(program, *decoded);
}

TEST(Program, RandomOnesRoundTrip) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = Random(seed).program();
    const auto decoded = decode(encode(program));
    ASSERT_TRUE(decoded) << decoded.error().message;
    expect_same(program, *decoded);
  }
}

TEST(Program, CutAtAnyLengthIsRefused) {
  const std::string whole = encode(sample());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode(std::string_view(whole).substr(0, length))) << length;
  }
}

TEST(Program, ATrailingByteIsRefused) {
  EXPECT_FALSE(decode(encode(sample()) + '\0'));
}

TEST(Program, AnotherVersionIsRefusedByItsNumber) {
  std::string bytes = encode(sample());
  bytes[4] = 3;
  const auto decoded = decode(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().message,
              AllOf(HasSubstr("version 3"), HasSubstr("different releases")));
}

TEST(Program, SomethingElseIsRefused) {
  EXPECT_THAT(decode("{}").error().message, HasSubstr("not a sidecall program"));
  EXPECT_THAT(decode(std::string(100, '\0')).error().message, HasSubstr("not a sidecall program"));
}

// Every byte replaced by every other value: an error or another program, and never worse.
TEST(Program, NoByteValueDoesHarm) {
  const std::string whole = encode(sample());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(value);
      const auto decoded = decode(bytes);
      if (!decoded) continue;
      for (const Route& route : decoded->routes) {
        EXPECT_LE(static_cast<int>(route.abi), static_cast<int>(kernel::Abi::kAArch64));
        for (const Rule& rule : route.rules) {
          EXPECT_LE(static_cast<int>(rule.action), static_cast<int>(Rule::Action::kRemote));
          for (const Condition& condition : rule.when) EXPECT_LT(condition.index, 6);
        }
      }
    }
  }
}

struct OutOfRange {
  const char* name;
  void (*spoil)(Program& program);
};

class ProgramOutOfRange : public testing::TestWithParam<OutOfRange> {};

INSTANTIATE_TEST_SUITE_P(
    Each, ProgramOutOfRange,
    testing::Values(
        OutOfRange{"Abi", [](Program& p) { p.routes[0].abi = static_cast<kernel::Abi>(3); }},
        OutOfRange{"Operator",
                   [](Program& p) { p.routes[0].rules[0].when[0].op = static_cast<Compare>(7); }},
        OutOfRange{"Register", [](Program& p) { p.routes[0].rules[0].when[0].index = 6; }},
        OutOfRange{"Action",
                   [](Program& p) { p.routes[0].rules[0].action = static_cast<Rule::Action>(5); }},
        OutOfRange{"Instance", [](Program& p) { p.routes[0].rules[1].instance = 2; }},
        OutOfRange{"Remote", [](Program& p) { p.routes[2].rules[0].instance = 1; }},
        OutOfRange{"Plugin", [](Program& p) { p.remotes[0].plugin = 2; }},
        OutOfRange{"Absent",
                   [](Program& p) { p.remotes[0].absent = static_cast<Remote::Absent>(3); }},
        OutOfRange{"RemoteErrnoZero", [](Program& p) { p.remotes[0].errno_value = 0; }},
        OutOfRange{"RemoteErrnoTooLarge", [](Program& p) { p.remotes[0].errno_value = 4096; }},
        OutOfRange{"ErrnoZero", [](Program& p) { p.routes[0].rules[0].number = 0; }},
        OutOfRange{"ErrnoNegative", [](Program& p) { p.routes[0].rules[0].number = -1; }},
        OutOfRange{"ErrnoTooLarge", [](Program& p) { p.routes[0].rules[0].number = 4096; }}),
    [](const auto& which) { return std::string(which.param.name); });

TEST_P(ProgramOutOfRange, IsRefused) {
  Program program = sample();
  GetParam().spoil(program);
  const auto decoded = decode(encode(program));
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().message, HasSubstr("out of range"));
}

}  // namespace
}  // namespace sidecall::emulators
