#include "kernel/thread_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

namespace sidecall::kernel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// As a kernel writes it, cut to the lines around those that are read.
std::string status_text(std::string_view uid = "1000\t1001\t1002\t1003",
                        std::string_view gid = "2000\t2001\t2002\t2003",
                        std::string_view groups = "4 24 2000 ",
                        std::string_view capabilities = "00000000a80425fb",
                        std::string_view umask = "0027") {
  std::string text = "Name:\ta name\nUmask:\t";
  text.append(umask).append("\nState:\tS (sleeping)\nTgid:\t1\nPid:\t1\nUid:\t");
  text.append(uid).append("\nGid:\t").append(gid).append("\nFDSize:\t64\nGroups:\t");
  text.append(groups).append(
      "\nNStgid:\t3001\t52\t7\nNSpid:\t3002\t53\t8\nCapPrm:\t00000000a80425ff\nCapEff:\t");
  text.append(capabilities).append("\nCapBnd:\t000001ffffffffff\nSeccomp:\t2\n");
  return text;
}

int error_of(const std::string& text) {
  const auto parsed = parse_status(text);
  return parsed ? 0 : parsed.error().value;
}

TEST(ParseStatus, TakesTheFilesystemIdsTheEffectiveCapabilitiesAndTheOctalUmask) {
  const auto parsed = parse_status(status_text());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->fsuid, 1003U);
  EXPECT_EQ(parsed->fsgid, 2003U);
  EXPECT_THAT(parsed->groups, ElementsAre(4, 24, 2000));
  EXPECT_EQ(parsed->effective_capabilities, 0xa80425fbU);
  EXPECT_EQ(parsed->umask, 027U);
}

TEST(ParseStatus, ThreadsAndProcessesHaveNumbersInEachPidNamespace) {
  std::string text = status_text();
  EXPECT_THAT(parse_status(text)->tgids, ElementsAre(3001, 52, 7));
  EXPECT_THAT(parse_status(text)->tids, ElementsAre(3002, 53, 8));
  text[text.find("NSpid")] = 'X';
  EXPECT_THAT(parse_status(text)->tids, IsEmpty());
}

TEST(ParseStatus, TakesEveryIdThatTheKernelWrites) {
  const auto parsed = parse_status(status_text("0\t0\t0\t4294967295", "0\t0\t0\t65534"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->fsuid, 4294967295U);
  EXPECT_EQ(parsed->fsgid, 65534U);
}

TEST(ParseStatus, NoGroupsAndAllGroups) {
  EXPECT_THAT(parse_status(status_text("0 0 0 0", "0 0 0 0", " "))->groups, IsEmpty());
  EXPECT_THAT(parse_status(status_text("0 0 0 0", "0 0 0 0", ""))->groups, IsEmpty());
  std::string all;
  for (int group = 0; group < 65536; ++group) all += std::to_string(4'000'000'000U) + " ";
  EXPECT_THAT(parse_status(status_text("0 0 0 0", "0 0 0 0", all))->groups, SizeIs(65536));
}

TEST(ParseStatus, ANameThatLooksLikeALineIsNone) {
  // The kernel escapes a newline in a name as the two characters \n.
  std::string text = status_text();
  text.replace(0, text.find('\n'), "Name:\tx\\nUid:\\t0\\t0\\t0\\t0\\nCapEff:\\tffff");
  EXPECT_EQ(parse_status(text)->fsuid, 1003U);
  text.replace(0, text.find('\n'), "Name:\tUid: 0 0 0 0");
  EXPECT_EQ(parse_status(text)->fsuid, 1003U);
}

TEST(ParseStatus, EachLineIsNeeded) {
  for (const std::string key : {"Umask:", "Uid:", "Gid:", "Groups:", "CapEff:"}) {
    std::string text = status_text();
    text[text.find("\n" + key) + 1] = 'X';
    EXPECT_EQ(error_of(text), EINVAL) << key;
  }
  EXPECT_EQ(error_of(""), EINVAL);
}

TEST(ParseStatus, MalformedLinesAreRefused) {
  const std::string ids = "0\t0\t0\t0";
  EXPECT_EQ(error_of(status_text("0\t0\t0")), EINVAL);
  EXPECT_EQ(error_of(status_text("0\t0\t0\tx")), EINVAL);
  EXPECT_EQ(error_of(status_text("0\t0\t0\t-1")), EINVAL);
  EXPECT_EQ(error_of(status_text("0\t0\t0\t4294967296")), EINVAL);
  EXPECT_EQ(error_of(status_text(ids, "")), EINVAL);
  EXPECT_EQ(error_of(status_text(ids, ids, "", "")), EINVAL);
  EXPECT_EQ(error_of(status_text(ids, ids, "", "10000000000000000")), EINVAL);
  EXPECT_EQ(error_of(status_text(ids, ids, "", "0", "9")), EINVAL);
}

TEST(ParseStatus, AGroupListIsNeverCutInSilence) {
  const std::string ids = "0\t0\t0\t0";
  EXPECT_EQ(error_of(status_text(ids, ids, "1 x 3 ")), EINVAL);
  EXPECT_EQ(error_of(status_text(ids, ids, "1 4294967296 3 ")), EINVAL);
}

TEST(ParseStatus, TextCutAnywhereIsRefusedOrWhole) {
  const std::string text = status_text();
  const std::size_t last_line = text.find("CapEff:");
  for (std::size_t length = 0; length < last_line; ++length) {
    EXPECT_EQ(error_of(text.substr(0, length)), EINVAL) << length;
  }
}

class OwnThread : public testing::Test {
 protected:
  UniqueFd proc_{::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(OwnThread, CredentialsAreTheOnesInForce) {
  const auto directory = ThreadDirectory::open(proc_.get(), ::gettid());
  ASSERT_TRUE(directory);
  const mode_t before = ::umask(0123);
  const auto credentials = directory->credentials();
  ::umask(before);
  ASSERT_TRUE(credentials);
  EXPECT_EQ(credentials->umask, 0123U);
  EXPECT_EQ(credentials->fsuid, static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))));
  EXPECT_EQ(credentials->fsgid, static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))));
  std::vector<gid_t> groups(static_cast<std::size_t>(::getgroups(0, nullptr)));
  ::getgroups(static_cast<int>(groups.size()), groups.data());
  EXPECT_EQ(credentials->groups.size(), groups.size());
}

TEST_F(OwnThread, NamespacesAreThoseOfTheirFiles) {
  const auto directory = ThreadDirectory::open(proc_.get(), ::gettid());
  ASSERT_TRUE(directory);
  struct stat status {};
  ASSERT_EQ(::stat("/proc/self/ns/user", &status), 0);
  EXPECT_EQ(directory->namespace_id("ns/user").value(), NamespaceId{.inode = status.st_ino});
  EXPECT_NE(directory->namespace_id("ns/uts").value(), directory->namespace_id("ns/user").value());
}

TEST_F(OwnThread, ADirectoryStaysThatOfItsTask) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto directory = ThreadDirectory::open(proc_.get(), child);
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->credentials());
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(directory->credentials().error().value, ESRCH);
  EXPECT_EQ(directory->namespace_id("ns/user").error().value, ESRCH);
  EXPECT_EQ(directory->open_file("mem", O_RDONLY).error().value, ESRCH);
  EXPECT_EQ(ThreadDirectory::open(proc_.get(), child).error().value, ESRCH);
}

TEST_F(OwnThread, DescriptorsHaveTheFlagsThatTheyWereOpenedWith) {
  const auto self = ThreadDirectory::open(proc_.get(), ::gettid());
  ASSERT_TRUE(self);
  const UniqueFd by_path(::open("/", O_PATH | O_CLOEXEC));
  const UniqueFd for_writing(::open("/dev/null", O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  EXPECT_EQ(self->descriptor_flags(by_path.get()).value_or(0) & O_PATH, O_PATH);
  constexpr int kAsked = O_ACCMODE | O_NONBLOCK | O_PATH;
  EXPECT_EQ(self->descriptor_flags(for_writing.get()).value_or(0) & kAsked, O_WRONLY | O_NONBLOCK);
  EXPECT_EQ(self->descriptor_flags(4242).error().value, ESRCH);
}

TEST_F(OwnThread, TheLastCpuIsOneOfTheThreads) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const auto self = ThreadDirectory::open(proc_.get(), ::gettid());
  ASSERT_TRUE(self);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(self->last_cpu().value_or(CPU_SETSIZE), cpu);
  }
  ::sched_setaffinity(0, sizeof before, &before);
}

TEST_F(OwnThread, NumbersThatNameNoThreadAreRefused) {
  for (const pid_t tid : {0, -1, std::numeric_limits<pid_t>::max()}) {
    EXPECT_EQ(ThreadDirectory::open(proc_.get(), tid).error().value, ESRCH) << tid;
  }
}

}  // namespace
}  // namespace sidecall::kernel
