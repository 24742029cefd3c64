// Walks the table: what a row lacks is named here, before anybody misses it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include "base/file.h"
#include "emulators/table.h"
#include "kernel/privileges.h"

namespace sidecall::emulators {
namespace {

using testing::HasSubstr;

// The options of each row's example: those of its JSON, which is not read at this layer.
Options example_options(std::string_view row) {
  static const std::map<std::string_view, Options> kExamples = {
      {"chown", {{"mode", std::string("pretend")}}},
      {"clock", {{"mode", std::string("pretend")}}},
      {"mknod", {{"devices", std::vector<std::string>{"c 1:3", "c 1:5"}}}},
      {"mount",
       {{"filesystems", std::vector<std::string>{"ext4", "tmpfs: size,mode"}},
        {"devices", std::vector<std::string>{"b 7:*"}}}},
      {"reboot", {{"mode", std::string("pretend")}}},
      {"sched",
       {{"policies", std::vector<std::string>{"fifo", "rr"}},
        {"max_priority", std::int64_t{20}},
        {"min_nice", std::int64_t{-10}}}},
      {"swap", {{"mode", std::string("pretend")}}},
      {"umount", {{"callers", std::string("root")}}},
      {"uname", {{"release", std::string("5.10.0")}}},
      {"xattr", {{"names", std::vector<std::string>{"trusted.overlay.*"}}}},
  };
  const auto found = kExamples.find(row);
  return found == kExamples.end() ? Options{} : found->second;
}

std::string source_text(const std::string& path) {
  auto text = read_file(std::string(SIDECALL_SOURCE_ROOT "/") + path);
  EXPECT_TRUE(text) << text.error().message;
  return text.value_or("");
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The text under "## TITLE" of a Markdown file, up to the next title of that level.
std::string section_of(const std::string& text, const std::string& title) {
  const std::string marked = "\n" + text;
  const auto start = marked.find("\n## " + title + "\n");
  if (start == std::string::npos) return "";
  return marked.substr(start, marked.find("\n## ", start + 1) - start);
}

class EachRow : public testing::TestWithParam<Row> {};

INSTANTIATE_TEST_SUITE_P(Table, EachRow, testing::ValuesIn(table().begin(), table().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(EachRow, SaysWhatItIs) {
  const Row& row = GetParam();
  EXPECT_FALSE(row.summary.empty());
  EXPECT_FALSE(row.notes.empty());
  EXPECT_FALSE(row.members.empty());
  for (const OptionSpec& option : row.options) {
    EXPECT_FALSE(option.summary.empty()) << option.name;
    EXPECT_TRUE(option.required || option.type != OptionType::kString ||
                option.summary.find("default") != std::string_view::npos)
        << option.name << " is optional, and its summary does not say the default";
  }
}

TEST_P(EachRow, HasAnExampleThatUsesItAsItMustBeUsed) {
  const Row& row = GetParam();
  EXPECT_THAT(row.example, HasSubstr("\"emulate\": \"" + std::string(row.name) + "\""));
  const Options options = example_options(row.name);
  for (const OptionSpec& option : row.options) {
    EXPECT_TRUE(!option.required || options.contains(option.name))
        << "example_options() in this file lacks " << option.name;
  }
  for (const auto& [name, value] : options) {
    EXPECT_THAT(row.example, HasSubstr("\"" + name + "\""));
    const auto declared = std::ranges::find(row.options, name, &OptionSpec::name);
    ASSERT_NE(declared, row.options.end()) << name;
    EXPECT_EQ(value.index(), static_cast<std::size_t>(declared->type)) << name;
  }
  const auto emulator = row.make(options);
  ASSERT_TRUE(emulator) << emulator.error().message;
  EXPECT_NE(*emulator, nullptr);
}

TEST_P(EachRow, NamesSyscallsThatExist) {
  for (const Member& member : GetParam().members) {
    EXPECT_NE(::seccomp_syscall_resolve_name(std::string(member.syscall).c_str()), __NR_SCMP_ERROR)
        << member.syscall;
  }
}

TEST_P(EachRow, NamesCapabilitiesThatExist) {
  const std::uint64_t bits = GetParam().rights.capabilities;
  const std::string names = kernel::capability_names(bits);
  EXPECT_EQ(std::ranges::count(names, ','), std::max(std::popcount(bits), 1) - 1);
  EXPECT_TRUE(std::ranges::none_of(names, [](unsigned char c) { return std::isdigit(c); }))
      << names;
}

// Files are made as the caller, which takes all of these; memory takes the right to look at it.
TEST_P(EachRow, HasTheCapabilitiesOfWhatItNeeds) {
  const std::string names = kernel::capability_names(GetParam().rights.capabilities);
  std::vector<std::string> needed;
  if (GetParam().rights.needs != Needs::kRegisters) needed = {"cap_sys_ptrace"};
  if (GetParam().rights.needs == Needs::kFiles) {
    needed = {"cap_sys_ptrace", "cap_sys_chroot", "cap_setuid", "cap_setgid"};
  }
  for (const std::string& name : needed) EXPECT_THAT(names, HasSubstr(name));
}

// Brute force over the registers that the conditions look at and values they could tell apart.
TEST_P(EachRow, HasAlternativesThatExcludeEachOther) {
  for (const Member& member : GetParam().members) {
    std::set<std::size_t> registers;
    std::set<std::uint64_t> values = {0, ~0ULL, S_IFREG, S_IFCHR, S_IFBLK | 0777};
    for (const Conditions& alternative : member.notify) {
      for (const Condition& condition : alternative) {
        ASSERT_LT(condition.index, 6);
        registers.insert(condition.index);
        for (const std::uint64_t value : {condition.value, condition.value_two}) {
          values.insert({value, value + 1, value - 1});
        }
      }
    }
    std::vector<std::array<std::uint64_t, 6>> calls(1);
    for (const std::size_t index : registers) {
      for (const auto& call : std::exchange(calls, {})) {
        for (const std::uint64_t value : values) calls.emplace_back(call)[index] = value;
      }
    }
    for (const auto& call : calls) {
      const auto matching = std::ranges::count_if(
          member.notify, [&](const Conditions& alternative) { return hold(alternative, call); });
      ASSERT_LE(matching, 1) << member.syscall << ": " << testing::PrintToString(call);
    }
  }
}

TEST_P(EachRow, HasAKernelTest) {
  const std::regex test(R"(\nTEST(?:_F|_P)?\(\s*(\w+),)");
  bool found = false;
  for (const auto& file :
       std::filesystem::directory_iterator(SIDECALL_SOURCE_ROOT "/tests/kernel")) {
    if (!file.path().string().ends_with("_test.cc")) continue;
    const std::string text = source_text("tests/kernel/" + file.path().filename().string());
    for (std::sregex_iterator at(text.begin(), text.end(), test), end; at != end; ++at) {
      found = found || lower((*at)[1]).find(GetParam().name) != std::string::npos;
    }
  }
  EXPECT_TRUE(found) << "tests/kernel has no test suite whose name contains \"" << GetParam().name
                     << "\": add one";
}

TEST_P(EachRow, HasFixedAnswersThatAFilterCanGive) {
  const Row& row = GetParam();
  if (row.fixed == nullptr) return;
  for (std::size_t member = 0; member < row.members.size(); ++member) {
    const auto answer = row.fixed(example_options(row.name), member);
    EXPECT_LT(answer.value_or(FixedAnswer{}).errno_value, 4096) << row.members[member].syscall;
  }
}

TEST_P(EachRow, HasItsDocumentation) {
  const Row& row = GetParam();
  const std::string text = source_text("runtime/emulators/README.md");
  const std::string section = section_of(text, std::string(row.name));
  ASSERT_FALSE(section.empty()) << "runtime/emulators/README.md has no section \"## " << row.name
                                << "\": add one";
  for (const OptionSpec& option : row.options) {
    EXPECT_THAT(section, HasSubstr("`" + std::string(option.name) + "`"))
        << "runtime/emulators/README.md, section " << row.name << ", does not name this option";
  }
}

TEST(Table, HasEachNameOnce) {
  std::set<std::string_view> names;
  for (const Row& row : table()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(Table, HasEachSyscallOnce) {
  std::set<std::string_view> syscalls;
  for (const Row& row : table()) {
    for (const Member& member : row.members) {
      EXPECT_TRUE(syscalls.insert(member.syscall).second) << member.syscall;
    }
  }
}

TEST(Table, FindsARowByItsWholeName) {
  for (const Row& row : table()) EXPECT_EQ(find_row(row.name), &row);
  EXPECT_EQ(find_row("mkno"), nullptr);
  EXPECT_EQ(find_row(""), nullptr);
}

}  // namespace
}  // namespace sidecall::emulators
