#include "worker/reinforcement.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "placement/placement.h"

namespace sidecall::worker {

using placement::CpuSet;

Reinforcement::~Reinforcement() {
  is_ending_ = true;
  recall();
  const auto is_out = [](const auto& member) { return member->is_out.load(); };
  while (std::any_of(members_.begin(), members_.end(), is_out)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    recall_late();
  }
  wanted_ = kMost + 1;  // a value that nobody waits for: so each looks
  wanted_.notify_all();
  for (const auto& member : members_) member->thread.join();
}

bool Reinforcement::has_on(unsigned cpu) const {
  return std::any_of(members_.begin(), members_.begin() + wanted(),
                     [&](const auto& member) { return member->cpu == cpu; });
}

void Reinforcement::send_to(unsigned cpu) {
  const unsigned index = wanted();
  if (index >= kMost) return;
  if (index == members_.size()) {
    members_.push_back(std::make_unique<Member>());
    Member& member = *members_.back();
    member.thread = std::thread([this, &member, index] { run(member, index); });
  }
  members_[index]->cpu = cpu;
  wanted_ = index + 1;
  wanted_.notify_all();
}

void Reinforcement::recall() {
  wanted_ = 0;
  recall_late();
}

void Reinforcement::recall_late() {
  for (unsigned index = wanted(); index < members_.size(); ++index) {
    if (members_[index]->is_out) ::pthread_kill(members_[index]->thread.native_handle(), SIGUSR1);
  }
}

std::uint64_t Reinforcement::served() const {
  std::uint64_t served = 0;
  for (const auto& member : members_) served += member->served.load(std::memory_order_relaxed);
  return served;
}

void Reinforcement::run(Member& self, unsigned index) {
  const ServeOne serve_one = make_server_();
  while (!is_ending_) {
    const unsigned wanted = wanted_;
    if (wanted <= index) {
      wanted_.wait(wanted);
      continue;
    }
    self.is_out = true;
    placement::place_self(CpuSet::of(self.cpu));
    Turn turn = Turn::kNothing;
    while (wanted_.load(std::memory_order_relaxed) > index && !is_ending_ && turn != Turn::kEnd) {
      turn = serve_one();
      if (turn == Turn::kServed) self.served.fetch_add(1, std::memory_order_relaxed);
    }
    self.is_out = false;
    if (turn == Turn::kEnd) return;
  }
}

}  // namespace sidecall::worker
