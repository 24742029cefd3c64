// The agent's safekeeping: records in the run directory, descriptors with the node's keeper.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/estate.h"
#include "agent/event_loop.h"
#include "agent/log.h"
#include "agent/record_directory.h"
#include "agent/safekeeping.h"
#include "base/result.h"
#include "keeper/link.h"

namespace sidecall::agent {

// Descriptors cannot be in a file, so a process holds them: sidecall-keeper, one for the node. It
// is found at keeper.sock in the run directory, and started where nobody listens there. One that
// dies is replaced, and the new one given everything again.
class Keeping final : public Safekeeping {
 public:
  // The run directory must be ours already. `loop` and `log` must outlive it. `program` is the
  // sidecall-keeper to start. An error is a keeper that cannot be started, or one of another
  // release: what it holds is nobody's to throw away.
  [[nodiscard]] static Result<std::unique_ptr<Keeping>> start(EventLoop& loop, const Log& log,
                                                              const std::string& run_directory,
                                                              std::string program);

  // What was left when start() came; once.
  [[nodiscard]] Inheritance take_inheritance() { return std::move(inheritance_); }
  // Called when a new keeper has come that holds nothing yet.
  void when_empty(std::function<void()> refill) { refill_ = std::move(refill); }

  Result<void> begin(const Record& record) override;
  void keep(const keeper::Label& label, int fd) override;
  void drop(const keeper::Label& label) override;
  void end(std::uint64_t number) override;

 private:
  Keeping(EventLoop& loop, const Log& log, std::string path, std::string program,
          RecordDirectory records);
  [[nodiscard]] Result<void> attach();
  void use(keeper::Link link);
  void check(const Result<void>& sent);
  void lose(const std::string& cause);
  void replace();

  EventLoop& loop_;
  const Log& log_;
  std::string path_;
  std::string program_;
  RecordDirectory records_;
  Inheritance inheritance_;
  std::function<void()> refill_;
  std::optional<keeper::Link> link_;  // none while a keeper is being replaced
  // After link_: they go before the descriptor that they watch.
  EventLoop::Handle watch_;
  EventLoop::Handle retry_;
};

}  // namespace sidecall::agent
