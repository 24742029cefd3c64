#include "emulators/uts_layouts.h"

#include <gtest/gtest.h>
#include <sys/personality.h>

#include <cstring>

namespace sidecall::emulators {
namespace {

using kernel::Abi;

utsname names_with(const std::string& release) {
  utsname names{};
  std::strcpy(names.sysname, "Linux");         // NOLINT: fits
  std::strcpy(names.nodename, "a-long-name");  // NOLINT
  release.copy(names.release, sizeof names.release - 1);
  std::strcpy(names.version, "#1 SMP");      // NOLINT
  std::strcpy(names.machine, "x86_64");      // NOLINT
  std::strcpy(names.domainname, "example");  // NOLINT
  return names;
}

std::string bytes(const std::string& release, UtsLayout layout, std::uint32_t personality,
                  Abi abi = Abi::kX86_64) {
  return uts_bytes(names_with(release), layout, personality, abi);
}
// A field of the bytes, whole.
std::string field(const std::string& bytes, std::size_t at, std::size_t length = 65) {
  return bytes.substr(at * length, length);
}
std::string padded(std::string text, std::size_t length) {
  text.resize(length);
  return text;
}

TEST(UtsLayouts, TheNewestHasSixFields) {
  const utsname names = names_with("6.18.0");
  const std::string told = bytes("6.18.0", UtsLayout::kUname, PER_LINUX);
  ASSERT_EQ(told.size(), sizeof names);
  EXPECT_EQ(std::memcmp(told.data(), &names, sizeof names), 0);
}

TEST(UtsLayouts, TheOlderLacksTheDomain) {
  EXPECT_EQ(bytes("6.18.0", UtsLayout::kOldUname, PER_LINUX),
            bytes("6.18.0", UtsLayout::kUname, PER_LINUX).substr(0, 325));
}

TEST(UtsLayouts, TheOldestCutsFieldsTo8Bytes) {
  const std::string told = bytes("6.18.0-of-the-host", UtsLayout::kOldOldUname, PER_LINUX);
  EXPECT_EQ(told, padded("Linux", 9) + padded("a-long-n", 9) + padded("6.18.0-o", 9) +
                      padded("#1 SMP", 9) + padded("x86_64", 9));
}

TEST(UtsLayouts, Uname26CountsOnFrom60) {
  for (const auto& [release, told] : {std::pair("6.18.44-fc", "2.6.78-fc"),
                                      {"5.10.0", "2.6.70"},
                                      {"6.1", "2.6.61"},
                                      {"6.18.0.7", "2.6.78.7"},
                                      {"6.18-rc1", "2.6.78-rc1"},
                                      {"custom", "2.6.60custom"},
                                      {"", "2.6.60"},
                                      {"6.", "2.6.60"},
                                      {"6.99999999999999.1", "2.6.60"}}) {
    const std::string text = field(bytes(release, UtsLayout::kUname, UNAME26), 2);
    EXPECT_STREQ(text.c_str(), told) << release;
  }
}

TEST(UtsLayouts, Uname26LeavesWhatIsBehindItsNul) {
  EXPECT_EQ(field(bytes("6.18.440", UtsLayout::kUname, UNAME26), 2), padded(std::string("2.6.78\0"
                                                                                        "0",
                                                                                        8),
                                                                            65));
}

TEST(UtsLayouts, Uname26FitsItsField) {
  const std::string longest = "6.1." + std::string(60, 'x');
  const std::string told = bytes(longest, UtsLayout::kUname, UNAME26);
  EXPECT_EQ(field(told, 2), padded("2.6.61" + std::string(58, 'x'), 65));
  EXPECT_EQ(field(told, 3), padded("#1 SMP", 65));
  EXPECT_EQ(field(bytes("6.18.44-fc", UtsLayout::kOldOldUname, UNAME26), 2, 9),
            padded("2.6.78-f", 9));
}

TEST(UtsLayouts, Linux32HasThe32BitMachine) {
  for (const std::uint32_t personality : {0x0008U, 0x0020008U}) {
    const std::string told = bytes("6.18.0", UtsLayout::kUname, personality);
    EXPECT_EQ(field(told, 4), padded("i686", 65));
    EXPECT_EQ(field(told, 5), padded("example", 65));
    EXPECT_EQ(field(bytes("6.18.0", UtsLayout::kOldOldUname, personality, Abi::kI386), 4, 9),
              padded("i686", 9));
    EXPECT_EQ(field(bytes("6.18.0", UtsLayout::kUname, personality, Abi::kAArch64), 4),
              padded("armv8l", 65));
  }
  // PER_LINUX32_3GB is a flag of it, PER_BSD another personality.
  EXPECT_EQ(field(bytes("6.18.0", UtsLayout::kUname, PER_LINUX32_3GB), 4), padded("i686", 65));
  EXPECT_EQ(field(bytes("6.18.0", UtsLayout::kUname, PER_BSD), 4), padded("x86_64", 65));
}

}  // namespace
}  // namespace sidecall::emulators
