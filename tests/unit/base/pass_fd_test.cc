#include "base/pass_fd.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "support/fd_name.h"

namespace sidecall {
namespace {

using support::fd_name;
using support::named_fd;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Pair {
  UniqueFd a;
  UniqueFd b;
};

Pair socket_pair(int type) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {.a = UniqueFd(ends[0]), .b = UniqueFd(ends[1])};
}

// What send_with_fd() never sends: any number of descriptors in one message.
void send_fds(int socket, const std::vector<UniqueFd>& fds) {
  std::vector<int> numbers;
  numbers.reserve(fds.size());
  for (const UniqueFd& fd : fds) numbers.push_back(fd.get());
  const std::size_t bytes = numbers.size() * sizeof(int);
  std::vector<char> control(CMSG_SPACE(bytes));
  char byte = 'x';
  iovec part{.iov_base = &byte, .iov_len = 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(bytes);
  std::memcpy(CMSG_DATA(header), numbers.data(), bytes);
  ASSERT_EQ(::sendmsg(socket, &message, 0), 1);
}

std::vector<UniqueFd> several_fds(std::size_t count) {
  std::vector<UniqueFd> fds;
  while (fds.size() < count) fds.push_back(named_fd("fd" + std::to_string(fds.size())));
  return fds;
}

TEST(PassFd, CarriesBytesAndADescriptor) {
  const Pair pair = socket_pair(SOCK_SEQPACKET);
  const UniqueFd file = named_fd("carried");
  ASSERT_TRUE(send_with_fd(pair.a.get(), "hello", file.get()));
  const auto received = receive_with_fds(pair.b.get(), 100);
  ASSERT_TRUE(received) << received.error().message;
  EXPECT_EQ(received->bytes, "hello");
  ASSERT_THAT(received->fds, SizeIs(1));
  EXPECT_FALSE(received->fds_cut);
  EXPECT_EQ(fd_name(received->fds[0].get()), "carried");
  EXPECT_NE(received->fds[0].get(), file.get());
  EXPECT_EQ(::fcntl(received->fds[0].get(), F_GETFD), FD_CLOEXEC);
}

TEST(PassFd, WhatWasPeekedAtIsStillThere) {
  const Pair pair = socket_pair(SOCK_STREAM);
  const UniqueFd fd = named_fd("passed");
  ASSERT_TRUE(send_with_fd(pair.a.get(), "message", fd.get()));
  for (int times = 0; times < 2; ++times) {
    const auto peeked = peek_with_fds(pair.b.get(), 100);
    ASSERT_TRUE(peeked);
    EXPECT_EQ(peeked->bytes, "message");
    ASSERT_THAT(peeked->fds, SizeIs(1));
    EXPECT_EQ(fd_name(peeked->fds[0].get()), fd_name(fd.get()));
  }
  const auto received = receive_with_fds(pair.b.get(), 100);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->bytes, "message");
  EXPECT_THAT(received->fds, SizeIs(1));
}

TEST(PassFd, CarriesBytesAlone) {
  const Pair pair = socket_pair(SOCK_STREAM);
  ASSERT_TRUE(send_with_fd(pair.a.get(), "hello", -1));
  const auto received = receive_with_fds(pair.b.get(), 100);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->bytes, "hello");
  EXPECT_THAT(received->fds, IsEmpty());
}

TEST(PassFd, GivesAtMostTheLimit) {
  const Pair pair = socket_pair(SOCK_STREAM);
  ASSERT_TRUE(send_with_fd(pair.a.get(), "hello", -1));
  EXPECT_EQ(receive_with_fds(pair.b.get(), 3)->bytes, "hel");
  EXPECT_EQ(receive_with_fds(pair.b.get(), 3)->bytes, "lo");
}

TEST(PassFd, TakesAsManyDescriptorsAsItSays) {
  const Pair pair = socket_pair(SOCK_SEQPACKET);
  send_fds(pair.a.get(), several_fds(kMostFdsReceived));
  const auto received = receive_with_fds(pair.b.get(), 100);
  ASSERT_TRUE(received);
  ASSERT_THAT(received->fds, SizeIs(kMostFdsReceived));
  EXPECT_FALSE(received->fds_cut);
  EXPECT_EQ(fd_name(received->fds.back().get()), "fd" + std::to_string(kMostFdsReceived - 1));
}

TEST(PassFd, SaysThatThereWereMore) {
  const Pair pair = socket_pair(SOCK_SEQPACKET);
  send_fds(pair.a.get(), several_fds(kMostFdsReceived + 1));
  const auto received = receive_with_fds(pair.b.get(), 100);
  ASSERT_TRUE(received);
  EXPECT_TRUE(received->fds_cut);
  EXPECT_THAT(received->fds, SizeIs(kMostFdsReceived));
}

TEST(PassFd, AClosedPeerIsNoBytesToReadAndAnErrorToWriteTo) {
  Pair pair = socket_pair(SOCK_STREAM);
  pair.a.reset();
  const auto received = receive_with_fds(pair.b.get(), 100);
  ASSERT_TRUE(received);
  EXPECT_THAT(received->bytes, IsEmpty());
  const auto sent = send_with_fd(pair.b.get(), "x", -1);  // no SIGPIPE either
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().message, "sending a message: Broken pipe");
}

TEST(PassFd, WouldBlockComesAsItsNumber) {
  const Pair pair = socket_pair(SOCK_STREAM | SOCK_NONBLOCK);
  const auto received = try_receive_with_fds(pair.a.get(), 100);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().value, EAGAIN);
}

TEST(PassFd, AMessageSentInPartIsAnError) {
  const Pair pair = socket_pair(SOCK_STREAM | SOCK_NONBLOCK);
  const std::string large(64U << 20U, 'x');
  const auto sent = send_with_fd(pair.a.get(), large, -1);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().message, "a message was sent in part");
}

TEST(PassFd, WhatIsNoSocketIsAnError) {
  const UniqueFd file = named_fd("file");
  EXPECT_THAT(send_with_fd(file.get(), "x", -1).error().message, HasSubstr("socket"));
  EXPECT_THAT(receive_with_fds(file.get(), 10).error().message, HasSubstr("receiving a message"));
}

}  // namespace
}  // namespace sidecall
