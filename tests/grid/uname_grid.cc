// uname(2): what the policy says, and all else of the calling thread's own.
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include <string>
#include <string_view>

#include "grid/buffers.h"

namespace sidecall::grid {
namespace {

using Buffers = BufferCases<SYS_uname, sizeof(utsname)>;

// As the policy below has them.
constexpr std::string_view kRelease = "9.8.7-grid";
constexpr std::string_view kVersion = "#1 of the grid";

utsname ask(const Checks& check) {
  utsname names{};
  check.gives("uname", ::syscall(SYS_uname, &names), 0);
  return names;
}

void name_host(const Checks& check, const std::string& host, const std::string& domain) {
  check.arrange("sethostname", ::sethostname(host.c_str(), host.size()) == 0);
  check.arrange("setdomainname", ::setdomainname(domain.c_str(), domain.size()) == 0);
}

void expect_names(const Checks& check, std::string_view host, std::string_view domain) {
  const utsname names = ask(check);
  check.holds("the host's name is " + std::string(host), names.nodename == host);
  check.holds("the domain's name is " + std::string(domain), names.domainname == domain);
}

constexpr Case kCases[] = {
    {"release and version", Off::kFails,
     [](const Checks& check) {
       const utsname names = ask(check);
       check.holds("release", names.release == kRelease);
       check.holds("version", names.version == kVersion);
     },
     Where::kContainerOnly},
    {"nothing behind the names", Off::kFails,
     [](const Checks& check) {
       utsname names{};
       std::memset(&names, 0xa5, sizeof names);
       check.gives("uname", ::syscall(SYS_uname, &names), 0);
       std::string wanted(sizeof names.release, '\0');
       wanted.replace(0, kRelease.size(), kRelease);
       check.holds("zeros follow the release",
                   std::string_view(names.release, sizeof names.release) == wanted);
     },
     Where::kContainerOnly},
    {"what no policy changes", Off::kHolds,
     [](const Checks& check) {
       const utsname names = ask(check);
       check.holds("system", std::string_view(names.sysname) == "Linux");
       check.holds("machine", names.machine[0] != '\0');
     }},
    {"names of the host", Off::kHolds,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWUTS", ::unshare(CLONE_NEWUTS) == 0);
       name_host(check, "grid-host", "grid-domain");
       expect_names(check, "grid-host", "grid-domain");
     }},
    {"names of 64 bytes", Off::kHolds,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWUTS", ::unshare(CLONE_NEWUTS) == 0);
       const std::string host(64, 'h');
       const std::string domain(64, 'd');
       name_host(check, host, domain);
       expect_names(check, host, domain);
     }},
    {"thread with a UTS namespace of its own", Off::kHolds,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWUTS", ::unshare(CLONE_NEWUTS) == 0);
       name_host(check, "outer", "outer-domain");
       in_thread([&] {
         check.arrange("unshare CLONE_NEWUTS", ::unshare(CLONE_NEWUTS) == 0);
         name_host(check, "inner", "inner-domain");
         expect_names(check, "inner", "inner-domain");
       });
       expect_names(check, "outer", "outer-domain");
     }},
    {"user and UTS namespaces of the caller's own", Off::kHolds,
     [](const Checks& check) {
       check.arrange("unshare", ::unshare(CLONE_NEWUSER | CLONE_NEWUTS) == 0);
       name_host(check, "nested", "nested-domain");
       expect_names(check, "nested", "nested-domain");
     }},
    {"user namespace of the caller's own", Off::kFails,
     [](const Checks& check) {
       check.arrange("unshare", ::unshare(CLONE_NEWUSER) == 0);
       check.holds("release", ask(check).release == kRelease);
     },
     Where::kContainerOnly},
    {"personality of an old kernel", Off::kHolds,
     [](const Checks& check) {
       check.arrange("personality", ::personality(UNAME26) >= 0);
       check.holds("release", std::string_view(ask(check).release).starts_with("2.6."));
     }},
    {"personality of an old kernel and the policy's release", Off::kFails,
     [](const Checks& check) {
       check.arrange("personality", ::personality(UNAME26) >= 0);
       // As override_release() of kernel/sys.c would make it of the policy's.
       check.holds("release", std::string_view(ask(check).release) == "2.6.68-grid");
     },
     Where::kContainerOnly},
    {"personality of a 32-bit program", Off::kHolds,
     [](const Checks& check) {
       const std::string before(ask(check).machine);
       if (before != "x86_64") check.skip("no 32-bit machine to be on " + before);
       check.arrange("personality", ::personality(PER_LINUX32) >= 0);
       check.holds("machine", std::string_view(ask(check).machine) == "i686");
       check.arrange("personality", ::personality(PER_LINUX) >= 0);
       check.holds("machine again", std::string_view(ask(check).machine) == before);
     }},
    {"personality of a thread", Off::kHolds,
     [](const Checks& check) {
       const std::string before(ask(check).machine);
       if (before != "x86_64") check.skip("no 32-bit machine to be on " + before);
       in_thread([&] {
         check.arrange("personality", ::personality(PER_LINUX32) >= 0);
         check.holds("machine", std::string_view(ask(check).machine) == "i686");
       });
       check.holds("machine of the first thread", std::string_view(ask(check).machine) == before);
     }},
    {"user without capabilities", Off::kFails,
     [](const Checks& check) {
       act_as(check, {.uid = 1234, .gid = 2345}, {});
       check.holds("release", ask(check).release == kRelease);
     },
     Where::kContainerOnly},
    {"caller that is not dumpable", Off::kFails,
     [](const Checks& check) {
       check.arrange("PR_SET_DUMPABLE", ::prctl(PR_SET_DUMPABLE, 0) == 0);
       check.holds("release", ask(check).release == kRelease);
     },
     Where::kContainerOnly},
};

#if defined(__i386__)
// struct old_utsname and struct oldold_utsname of linux/utsname.h: five names of 65 and of 9 bytes.
constexpr std::size_t kOldName = 65;
constexpr std::size_t kOldSize = 5 * kOldName;
constexpr std::size_t kOldestName = 9;
constexpr std::size_t kOldestSize = 5 * kOldestName;

template <long kNumber, std::size_t kName>
std::string old_name(const Checks& check, std::size_t index) {
  std::array<char, 5 * kName> names{};
  check.gives("the call", ::syscall(kNumber, names.data()), 0);
  return {names.data() + index * kName, ::strnlen(names.data() + index * kName, kName)};
}

constexpr Case kOldLayouts[] = {
    {"olduname", Off::kFails,
     [](const Checks& check) {
       check.holds("release", old_name<SYS_olduname, kOldName>(check, 2) == kRelease);
       check.holds("version", old_name<SYS_olduname, kOldName>(check, 3) == kVersion);
     },
     Where::kContainerOnly},
    {"oldolduname cuts names to 8 bytes", Off::kFails,
     [](const Checks& check) {
       check.holds("release", old_name<SYS_oldolduname, kOldestName>(check, 2) == "9.8.7-gr");
       check.holds("version", old_name<SYS_oldolduname, kOldestName>(check, 3) == "#1 of th");
     },
     Where::kContainerOnly},
    {"names of the host", Off::kHolds,
     [](const Checks& check) {
       check.arrange("unshare CLONE_NEWUTS", ::unshare(CLONE_NEWUTS) == 0);
       name_host(check, "a-long-host-name", "domain");
       check.holds("olduname", old_name<SYS_olduname, kOldName>(check, 1) == "a-long-host-name");
       check.holds("oldolduname", old_name<SYS_oldolduname, kOldestName>(check, 1) == "a-long-h");
       check.holds("system", old_name<SYS_oldolduname, kOldestName>(check, 0) == "Linux");
     }},
};
#endif

}  // namespace

Grid grid() {
  return {.name = "uname",
          .policy = R"({"rules": [{"emulate": "uname",
                       "options": {"release": "9.8.7-grid", "version": "#1 of the grid"}}]})",
          .themes = {
              {"names", kCases},
              {"memory", Buffers::kCases},
#if defined(__i386__)
              {"old layouts", kOldLayouts},
              {"memory of olduname", BufferCases<SYS_olduname, kOldSize>::kCases},
              {"memory of oldolduname", BufferCases<SYS_oldolduname, kOldestSize>::kCases},
#endif
          }};
}

}  // namespace sidecall::grid
