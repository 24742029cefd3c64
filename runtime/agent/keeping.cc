#include "agent/keeping.h"

#include <utility>

#include "base/paths.h"
#include "keeper/launch.h"

namespace sidecall::agent {
namespace {

constexpr std::chrono::milliseconds kRetryDelay{1000};

}  // namespace

Keeping::Keeping(EventLoop& loop, const Log& log, std::string path, std::string program,
                 RecordDirectory records)
    : loop_(loop),
      log_(log),
      path_(std::move(path)),
      program_(std::move(program)),
      records_(std::move(records)) {}

Result<std::unique_ptr<Keeping>> Keeping::start(EventLoop& loop, const Log& log,
                                                const std::string& run_directory,
                                                std::string program) {
  auto records = RecordDirectory::open(in_directory(run_directory, kRecordDirectory));
  if (!records) return pass_on(std::move(records));
  std::unique_ptr<Keeping> keeping(new Keeping(loop, log,
                                               in_directory(run_directory, kKeeperSocket),
                                               std::move(program), std::move(*records)));
  if (auto attached = keeping->attach(); !attached) {
    return pass_on(std::move(attached), "keeper");
  }
  return keeping;
}

Result<void> Keeping::attach() {
  auto records = records_.read_all();
  if (!records) return pass_on(std::move(records));
  auto found = keeper::Link::connect(path_);
  if (!found) return pass_on(std::move(found));
  std::vector<keeper::Kept> kept;
  if (*found) {
    auto fetched = (*found)->fetch();
    const std::string process = "pid " + std::to_string((*found)->keeper_pid());
    if (!fetched) {
      return pass_on(std::move(fetched), process +
                                             " holds the sandboxes of an earlier sidecalld; "
                                             "start that release, or end the containers and "
                                             "then that process");
    }
    kept = std::move(*fetched);
    use(std::move(**found));
  } else {
    auto started = keeper::start(program_, path_);
    if (!started) return pass_on(std::move(started));
    use(std::move(*started));
  }
  inheritance_ = sort_out(std::move(*records), std::move(kept));
  return {};
}

// An end of file is the one thing that comes unasked.
void Keeping::use(keeper::Link link) {
  link_ = std::move(link);
  auto watch = loop_.watch(link_->fd(), [this] { lose("it has ended"); });
  if (!watch) return lose(watch.error().message);
  watch_ = std::move(*watch);
}

void Keeping::check(const Result<void>& sent) {
  if (!sent) lose(sent.error().message);
}

// Everything is still held by the workers and by us: what is due is another keeper, before one of
// us dies as well.
void Keeping::lose(const std::string& cause) {
  log_.error("keeper lost", {{"pid", std::to_string(link_->keeper_pid())}, {"cause", cause}});
  watch_.reset();
  link_.reset();
  retry_ = loop_.after(std::chrono::milliseconds{0}, [this] { replace(); });
}

void Keeping::replace() {
  auto started = keeper::start(program_, path_);
  if (!started) {
    log_.error("keeper not replaced, trying again", {{"cause", started.error().message}});
    retry_ = loop_.after(kRetryDelay, [this] { replace(); });
    return;
  }
  use(std::move(*started));
  log_.warn("keeper replaced", {{"pid", std::to_string(link_->keeper_pid())}});
  if (refill_) refill_();
}

Result<void> Keeping::begin(const Record& record) {
  return records_.write(record);
}

void Keeping::keep(const keeper::Label& label, int fd) {
  if (link_) check(link_->put(label, fd));
}

void Keeping::drop(const keeper::Label& label) {
  if (link_) check(link_->drop(label));
}

void Keeping::end(std::uint64_t number) {
  if (link_) check(link_->forget(number));
  records_.remove(number);
}

}  // namespace sidecall::agent
