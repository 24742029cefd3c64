#include "agent/mailbox.h"

#include <sys/eventfd.h>

#include <utility>

namespace sidecall::agent {

Result<std::unique_ptr<Mailbox>> Mailbox::open(EventLoop& loop) {
  UniqueFd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return errno_failure("making an eventfd");
  std::unique_ptr<Mailbox> mailbox(new Mailbox(std::move(bell)));
  auto watch = loop.watch(mailbox->bell_.get(), [box = mailbox.get()] { box->read(); });
  if (!watch) return pass_on(std::move(watch));
  mailbox->watch_ = std::move(*watch);
  return mailbox;
}

void Mailbox::post(Letter letter) {
  {
    const std::lock_guard lock(mutex_);
    letters_.push_back(std::move(letter));
  }
  ::eventfd_write(bell_.get(), 1);
}

void Mailbox::read() {
  eventfd_t count = 0;
  ::eventfd_read(bell_.get(), &count);
  std::vector<Letter> letters;
  {
    const std::lock_guard lock(mutex_);
    letters.swap(letters_);
  }
  for (const Letter& letter : letters) letter();
}

}  // namespace sidecall::agent
