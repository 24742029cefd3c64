// uname(2) in each layout and under each personality: byte for byte what the kernel writes.
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "gtest/gtest.h"
#include "kernel/i386.h"
#include "kernel/sandbox.h"

#if defined(__x86_64__)

namespace sidecall::testing {
namespace {

using kernel::Abi;

constexpr long kUname = 122;
constexpr long kOldUname = 109;
constexpr long kOldOldUname = 59;

struct Form {
  const char* name;
  long nr;
  bool is_i386;
};
constexpr Form kForms[] = {{"uname of x86_64", SYS_uname, false},
                           {"uname of i386", kUname, true},
                           {"olduname", kOldUname, true},
                           {"oldolduname", kOldOldUname, true}};
constexpr unsigned long kPersonalities[] = {PER_LINUX, UNAME26, PER_LINUX32, 0x0020008, PER_BSD};

// What the call leaves of a filled page, "" where it fails.
std::string page_after(const Form& form, unsigned long persona, char* page) {
  constexpr std::size_t kPage = 4096;
  std::memset(page, 0xee, kPage);
  ::personality(persona);
  const long result =
      form.is_i386 ? call_i386(form.nr, address_of(page)) : ::syscall(form.nr, page);
  ::personality(PER_LINUX);
  return result == 0 ? std::string(page, kPage) : "";
}

std::string served(emulators::Options options, const Body& body) {
  return run_in_sandbox({.program = emulate("uname", std::move(options),
                                            {{Abi::kX86_64, SYS_uname},
                                             {Abi::kI386, kUname},
                                             {Abi::kI386, kOldUname},
                                             {Abi::kI386, kOldOldUname}}),
                         .install_filter = {},
                         .meanwhile = {}},
                        body);
}

class UnameLayouts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

TEST_F(UnameLayouts, AreTheKernelsByteForByte) {
  char* page = low_page();
  std::vector<std::string> expected;
  for (const Form& form : kForms) {
    for (const unsigned long persona : kPersonalities) {
      expected.push_back(page_after(form, persona, page));
      ASSERT_NE(expected.back(), "") << form.name;
    }
  }
  const std::string outcome = served({}, [&](Checks& checks) {
    std::size_t at = 0;
    for (const Form& form : kForms) {
      for (const unsigned long persona : kPersonalities) {
        checks.expect(page_after(form, persona, page) == expected[at++],
                      form.name + (" as " + std::to_string(persona)));
      }
    }
  });
  EXPECT_EQ(outcome, "");
}

TEST_F(UnameLayouts, HaveThePolicysFields) {
  char* page = low_page();
  const emulators::Options options = {{"release", std::string("5.10.0-sidecall")},
                                      {"domainname", std::string("domain")}};
  const std::string outcome = served(options, [&](Checks& checks) {
    for (const Form& form : kForms) {
      const bool is_oldest = form.nr == kOldOldUname;
      const std::size_t field = is_oldest ? 9 : 65;
      const std::string after = page_after(form, PER_LINUX, page);
      checks.expect(after.substr(2 * field, 8) == "5.10.0-s", form.name + std::string(" release"));
      const std::string older = page_after(form, UNAME26, page);
      checks.expect(older.substr(2 * field, 8) == "2.6.70-s", form.name + std::string(" UNAME26"));
      const bool has_domain = form.nr == kUname || !form.is_i386;
      checks.expect((after.substr(5 * field, 7) == std::string("domain\0", 7)) == has_domain,
                    form.name + std::string(" domain"));
    }
  });
  EXPECT_EQ(outcome, "");
}

TEST_F(UnameLayouts, FailAsTheKernelDoes) {
  char* page = low_page();
  const Body body = [&](Checks& checks) {
    ::mprotect(page, 4096, PROT_READ);
    for (const Form& form : kForms) {
      if (!form.is_i386) continue;
      checks.expect_errno(call_i386(form.nr), EFAULT, form.name + std::string(", NULL"));
      checks.expect_errno(call_i386(form.nr, address_of(page)), EFAULT,
                          form.name + std::string(", read-only"));
    }
  };
  EXPECT_EQ(run_natively(body), "");
  EXPECT_EQ(served({}, body), "");
}

}  // namespace
}  // namespace sidecall::testing

#endif
