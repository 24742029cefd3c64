#include "kernel/privileges.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

namespace sidecall::kernel {
namespace {

TEST(CapabilityNames, ListsNamesInOrder) {
  EXPECT_EQ(capability_names(0), "none");
  EXPECT_EQ(capability_names(1ULL << CAP_MKNOD), "cap_mknod");
  EXPECT_EQ(capability_names(1ULL << CAP_MKNOD | 1ULL << CAP_CHOWN), "cap_chown,cap_mknod");
}

TEST(CapabilityNames, GivesTheNumberOfWhatHasNoName) {
  EXPECT_EQ(capability_names(1ULL << 63U), "63");
}

}  // namespace
}  // namespace sidecall::kernel
