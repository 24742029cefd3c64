#include "kernel/memory_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

namespace sidecall::kernel {
namespace {

// Two writable regions that touch, a gap, then a read-only one beside a writable one.
constexpr std::string_view kMaps =
    "00001000-00002000 rw-p 00000000 00:00 0 \n"
    "00002000-00003000 rwxs 00000000 fd:01 7    /a file - with rw-p in its name\n"
    "00005000-00006000 r--p 00000000 00:00 0    [anon: rw-p]\n"
    "00006000-00007000 -w-p 00000000 00:00 0\n"
    "ffffffffff600000-ffffffffff601000 rwxp 00000000 00:00 0    [vsyscall]\n";

int verdict(std::uint64_t address, std::size_t length, std::string_view maps = kMaps) {
  const auto writable = check_writable_in(maps, address, length);
  return writable ? 0 : writable.error().value;
}

TEST(CheckWritableIn, TakesARegionToItsLastByteAndNoFurther) {
  EXPECT_EQ(verdict(0x1000, 1), 0);
  EXPECT_EQ(verdict(0x0fff, 1), EFAULT);
  EXPECT_EQ(verdict(0x0fff, 2), EFAULT);
  EXPECT_EQ(verdict(0x2fff, 1), 0);
  EXPECT_EQ(verdict(0x2fff, 2), EFAULT);
  EXPECT_EQ(verdict(0x3000, 1), EFAULT);
}

TEST(CheckWritableIn, CrossesRegionsThatTouch) {
  EXPECT_EQ(verdict(0x1fff, 2), 0);
  EXPECT_EQ(verdict(0x1000, 0x2000), 0);
  EXPECT_EQ(verdict(0x1000, 0x2001), EFAULT);
}

TEST(CheckWritableIn, RefusesGapsAndReadOnlyRegions) {
  EXPECT_EQ(verdict(0x4000, 1), EFAULT);
  EXPECT_EQ(verdict(0x1000, 0x6000), EFAULT);
  EXPECT_EQ(verdict(0x5000, 1), EFAULT);
  EXPECT_EQ(verdict(0x5fff, 2), EFAULT);
  EXPECT_EQ(verdict(0x6000, 0x1000), 0);
}

TEST(CheckWritableIn, RefusesRangesThatWrapRound) {
  EXPECT_EQ(verdict(0xffff'ffff'ffff'ffff, 1), EFAULT);
  EXPECT_EQ(verdict(0xffff'ffff'ffff'ff00, 0x1000), EFAULT);
  EXPECT_EQ(verdict(0x1000, ~std::size_t{0}), EFAULT);
  EXPECT_EQ(verdict(0xffff'ffff'ff60'0fff, 1), 0);
  EXPECT_EQ(verdict(0xffff'ffff'ff60'0fff, 2), EFAULT);
}

TEST(CheckWritableIn, RefusesTextThatIsNoMap) {
  EXPECT_EQ(verdict(0x1000, 1, ""), EFAULT);
  EXPECT_EQ(verdict(0x1000, 1, "nothing of the kind\n"), EFAULT);
  EXPECT_EQ(verdict(0x1000, 1, "00001000"), EFAULT);
  EXPECT_EQ(verdict(0x1000, 1, "00001000-"), EFAULT);
  EXPECT_EQ(verdict(0x1000, 1, "00001000-00002000"), EFAULT);
  EXPECT_EQ(verdict(0x1000, 1, "00001000-00002000 r"), EFAULT);
  EXPECT_EQ(verdict(0x1000, 1, "fffffffffffffffff-00002000 rw-p\n"), EFAULT);
}

class OwnMemory : public testing::Test {
 protected:
  static std::size_t page() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

  // Three pages: writable, read-only, unmapped.
  void SetUp() override {
    void* const mapped =
        ::mmap(nullptr, 3 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    pages_ = static_cast<std::byte*>(mapped);
    ASSERT_EQ(::mprotect(pages_ + page(), page(), PROT_READ), 0);
    ASSERT_EQ(::munmap(pages_ + 2 * page(), page()), 0);
    auto maps = open_file("/proc/self/maps", O_RDONLY);
    ASSERT_TRUE(maps) << maps.error().message;
    maps_ = std::move(*maps);
  }
  void TearDown() override { ::munmap(pages_, 2 * page()); }

  [[nodiscard]] int check(std::size_t offset, std::size_t length) const {
    const auto writable =
        check_writable(maps_.get(), reinterpret_cast<std::uint64_t>(pages_) + offset, length);
    return writable ? 0 : writable.error().value;
  }

  std::byte* pages_ = nullptr;
  UniqueFd maps_;
};

TEST_F(OwnMemory, IsToldApartByTheKernelsOwnList) {
  EXPECT_EQ(check(0, page()), 0);
  EXPECT_EQ(check(page() - 1, 1), 0);
  EXPECT_EQ(check(page() - 1, 2), EFAULT);
  EXPECT_EQ(check(page(), 1), EFAULT);
  EXPECT_EQ(check(2 * page(), 1), EFAULT);
}

}  // namespace
}  // namespace sidecall::kernel
