#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "kernel/abi.h"
#include "kernel/callers.h"
#include "support/fake_listener.h"
#include "support/native_abi.h"

namespace sidecall::kernel_tests {
namespace {

class FakeCallers final : public Callers {
 public:
  kernel::Listener& listener() override { return listener_; }
  void make_call(int caller, const Args& args) override {
    ids_[static_cast<std::size_t>(caller)] =
        listener_.call({.tid = tid(caller),
                        .arch = kernel::audit_arch(support::kNativeAbi),
                        .nr = SYS_getppid,
                        .args = args});
  }
  Returned wait_for_return(int caller) override {
    const auto answer = listener_.wait_for_answer(ids_[static_cast<std::size_t>(caller)]);
    if (answer.proceed) return {.value = native_value(caller)};
    if (answer.errno_value != 0) return {.value = -1, .error = answer.errno_value};
    return {.value = answer.value};
  }
  Returned read_byte(int, int fd) override {
    const auto* added = find(fd);
    unsigned char byte = 0;
    if (added == nullptr || ::read(added->fd.get(), &byte, 1) != 1) return {-1, EBADF};
    return {.value = byte};
  }
  Returned descriptor_flags(int, int fd) override {
    const auto* added = find(fd);
    if (added == nullptr) return {-1, EBADF};
    return {.value = added->cloexec ? FD_CLOEXEC : 0};
  }
  pid_t tid(int caller) const override { return 4000 + caller; }
  std::int64_t native_value(int) const override { return 4099; }
  void kill(int caller) override { listener_.kill_caller(ids_[static_cast<std::size_t>(caller)]); }
  void finish() override { listener_.last_user_exits(); }
  void interrupt(std::thread&) override { listener_.interrupt_receive(); }

 private:
  const support::FakeListener::AddedFd* find(int number) const {
    const auto& all = listener_.added_fds();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& added) { return added.number == number; });
    return found == all.end() ? nullptr : &*found;
  }

  support::FakeListener listener_;
  std::array<std::uint64_t, kCount> ids_{};
};

}  // namespace

std::unique_ptr<Callers> fake_callers() {
  return std::make_unique<FakeCallers>();
}

}  // namespace sidecall::kernel_tests
