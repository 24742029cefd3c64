// A keeper on a thread, and agents that come and go.
#include "keeper/keeper.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/pass_fd.h"
#include "keeper/link.h"

namespace sidecall::keeper {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Label::Kind;

class KeeperTest : public testing::Test {
 protected:
  KeeperTest() {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    path_ = directory_ + "/keeper.sock";
    UniqueFd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listening.get(), 1) != 0) {
      std::abort();
    }
    thread_ = std::thread([socket = std::move(listening)]() mutable {
      Keeper keeper(std::move(socket), {.look = milliseconds{1}, .linger = milliseconds{300}});
      EXPECT_TRUE(keeper.run());
    });
  }
  // Returns once the keeper has found that nobody needs it.
  void TearDown() override {
    thread_.join();
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }
  [[nodiscard]] Link connect() const {
    auto link = Link::connect(path_);
    if (!link || !*link) std::abort();
    return std::move(**link);
  }
  static std::array<UniqueFd, 2> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
  // Waits for the last reader to go.
  static bool loses_its_reader(const UniqueFd& writer) {
    pollfd look{writer.get(), 0, 0};
    return ::poll(&look, 1, 20'000) == 1 && (look.revents & POLLERR) != 0;
  }

  std::string directory_ = "/tmp/keeper_test.XXXXXX";
  std::string path_;
  std::thread thread_;
};

TEST_F(KeeperTest, KeepsWhatADeadAgentSentInItsLastMoment) {
  auto [reader, writer] = make_pipe();
  {
    Link agent = connect();
    ASSERT_TRUE(
        agent.put({.sandbox = 1, .tag = 2, .kind = Kind::kListener, .pid = 3}, reader.get()));
    reader.reset();
  }
  Link next = connect();
  auto kept = next.fetch();
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_THAT(*kept, SizeIs(1));
  EXPECT_EQ((*kept)[0].label.tag, 2U);
  EXPECT_EQ((*kept)[0].label.pid, 3);
  // It is the very pipe.
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read((*kept)[0].fd.get(), &byte, 1), 1);
  ASSERT_TRUE(next.forget(1));
}

TEST_F(KeeperTest, HoldsMoreThanItsSocketDoes) {
  constexpr std::size_t kMany = 900;
  Link agent = connect();
  for (std::size_t sandbox = 1; sandbox <= kMany; ++sandbox) {
    auto [reader, writer] = make_pipe();
    ASSERT_TRUE(agent.put({.sandbox = sandbox, .kind = Kind::kMemory}, reader.get()));
  }
  const auto kept = agent.fetch();
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(*kept, SizeIs(kMany));
  for (std::size_t sandbox = 1; sandbox <= kMany; ++sandbox) ASSERT_TRUE(agent.forget(sandbox));
}

TEST_F(KeeperTest, WithoutAnAgentItLetsGoOfSandboxesThatHaveEnded) {
  auto [listener, user] = make_pipe();
  auto [control, worker] = make_pipe();
  {
    Link agent = connect();
    ASSERT_TRUE(agent.put({.sandbox = 1, .tag = 1, .kind = Kind::kListener}, listener.get()));
    ASSERT_TRUE(agent.put({.sandbox = 1, .kind = Kind::kControl}, control.get()));
    ASSERT_THAT(*agent.fetch(), SizeIs(2));
  }
  listener.reset();
  control.reset();
  pollfd look{worker.get(), 0, 0};
  EXPECT_EQ(::poll(&look, 1, 20), 0) << "the sandbox lives";
  user.reset();
  EXPECT_TRUE(loses_its_reader(worker));
}

TEST_F(KeeperTest, AnswersAnotherReleaseWithItsOwnVersionAndHangsUp) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  const std::uint32_t other = kProtocolVersion + 1;
  ASSERT_GT(::send(socket.get(), &other, sizeof other, 0), 0);
  const auto answer = receive_with_fds(socket.get(), sizeof(Packet));
  ASSERT_TRUE(answer);
  EXPECT_EQ(version_of(answer->bytes), kProtocolVersion);
  const auto end = receive_with_fds(socket.get(), sizeof(Packet));
  EXPECT_TRUE(!end || end->bytes.empty());
}

TEST_F(KeeperTest, HangsUpOnAPutWithoutADescriptor) {
  Link agent = connect();
  ASSERT_TRUE(agent.put({.sandbox = 1, .kind = Kind::kMemory}, -1));
  const auto kept = agent.fetch();
  ASSERT_FALSE(kept);
  Link next = connect();
  EXPECT_THAT(*next.fetch(), IsEmpty());
}

TEST(KeeperLink, WhereNobodyListensThereIsNone) {
  const auto link = Link::connect("/nowhere/keeper.sock");
  ASSERT_TRUE(link);
  EXPECT_FALSE(link->has_value());
  EXPECT_FALSE(Link::connect("/" + std::string(200, 'x')));
}

}  // namespace
}  // namespace sidecall::keeper
