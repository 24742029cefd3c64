#include "agent/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "unit/agent/support.h"

namespace sidecall::agent {
namespace {

class ServiceManager : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("NOTIFY_SOCKET"); }
};

TEST_F(ServiceManager, IsTold) {
  const TemporaryDirectory directory;
  const std::string path = directory / "notify";
  const UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  ASSERT_TRUE(notify_service_manager("READY=1"));
  std::array<char, 64> text{};
  const ssize_t count = ::recv(manager.get(), text.data(), text.size(), MSG_DONTWAIT);
  ASSERT_GT(count, 0);
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(count)), "READY=1");
}

TEST_F(ServiceManager, WhereThereIsNoneNothingIsDone) {
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(notify_service_manager("READY=1"));
}

TEST_F(ServiceManager, ANameThatLeadsNowhereIsAnError) {
  ::setenv("NOTIFY_SOCKET", "/nowhere/notify", 1);
  EXPECT_FALSE(notify_service_manager("READY=1"));
  ::setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  EXPECT_FALSE(notify_service_manager("READY=1"));
}

}  // namespace
}  // namespace sidecall::agent
