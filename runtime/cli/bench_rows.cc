// The rows, and what each shows.
#include <fmt/format.h>

#include "cli/bench_row.h"

namespace sidecall::cli {
namespace {

using By = BenchRow::By;
using Where = BenchRow::Where;

std::string place_of(Where where) {
  if (where == Where::kOneCpu) return "one CPU";
  return where == Where::kApart ? "apart" : "every CPU";
}

std::string title(std::string_view what, Where where, bool sync = true) {
  return fmt::format("{}, {}{}", what, place_of(where), sync ? "" : ", no sync");
}

class Rows {
 public:
  explicit Rows(int cpus) : cpus_(cpus) {}

  void add(BenchRow row) {
    if (cpus_ > 1 || row.where != Where::kApart) rows_.push_back(std::move(row));
  }
  [[nodiscard]] std::vector<BenchRow> take() { return std::move(rows_); }

 private:
  int cpus_;
  std::vector<BenchRow> rows_;
};

void add_values(Rows& rows, Where where, bool sync) {
  const std::string floor = title("floor", where, sync);
  rows.add({.name = floor, .by = By::kFloor, .where = where, .sync = sync});
  if (where == Where::kApart) return;  // a worker is always where its callers are
  rows.add({.name = title("value", where, sync),
            .by = By::kWorker,
            .where = where,
            .sync = sync,
            .against = floor});
}

void add_emulators(Rows& rows, Where where) {
  const std::string floor = title("floor", where);
  rows.add({.name = title("sysinfo", where),
            .by = By::kWorker,
            .call = BenchCall::kSysinfo,
            .where = where,
            .emulator = "sysinfo",
            .against = floor});
  rows.add({.name = title("uname", where),
            .by = By::kWorker,
            .call = BenchCall::kUname,
            .where = where,
            .emulator = "uname",
            .against = floor});
  const std::string native = title("mknod and unlink by root, unserved", where);
  rows.add({.name = native,
            .by = By::kKernel,
            .call = BenchCall::kMknod,
            .where = where,
            .contained = false});
  rows.add({.name = title("mknod and unlink", where),
            .by = By::kWorker,
            .call = BenchCall::kMknod,
            .where = where,
            .emulator = "mknod",
            .against = native});
}

// What an emulator that answers with a descriptor is to be held against.
void add_descriptors(Rows& rows, Where where) {
  const std::string two = title("floor, ADDFD and SEND", where);
  rows.add({.name = two,
            .by = By::kFloor,
            .call = BenchCall::kDescriptor,
            .where = where,
            .reply = kFloorAddfdAndSend});
  rows.add({.name = title("floor, ADDFD FLAG_SEND", where),
            .by = By::kFloor,
            .call = BenchCall::kDescriptor,
            .where = where,
            .reply = kFloorAddfd,
            .against = two});
}

// Microseconds a call of all callers together: less than with one caller where they gain.
void add_callers(Rows& rows) {
  for (const int work : {0, 2}) {
    const std::string floor = work == 0 ? "floor" : "floor, 2 us of work";
    const std::string alone = title(floor, Where::kEveryCpu);
    if (work != 0) {
      rows.add({.name = alone, .by = By::kFloor, .where = Where::kEveryCpu, .work_us = work});
    }
    for (const int callers : {2, 4}) {
      rows.add({.name = fmt::format("{}, {} threads", alone, callers),
                .by = By::kFloor,
                .where = Where::kEveryCpu,
                .callers = callers,
                .work_us = work,
                .against = alone});
    }
  }
  for (const auto& [what, call] :
       {std::pair("value", BenchCall::kValue), std::pair("sysinfo", BenchCall::kSysinfo)}) {
    const std::string alone = title(what, Where::kEveryCpu);
    for (const int callers : {2, 4}) {
      for (const bool processes : {false, true}) {
        rows.add(
            {.name = fmt::format("{}, {} {}", alone, callers, processes ? "processes" : "threads"),
             .by = By::kWorker,
             .call = call,
             .where = Where::kEveryCpu,
             .callers = callers,
             .processes = processes,
             .emulator = call == BenchCall::kValue ? "" : what,
             .against = alone});
      }
    }
  }
}

void add_unnotified(Rows& rows) {
  const std::string without = "not notified, filter without a listener";
  rows.add({.name = without, .by = By::kKernel, .call = BenchCall::kPlain, .notifies = false});
  rows.add({.name = "not notified, the same filter with one",
            .by = By::kKernel,
            .call = BenchCall::kPlain,
            .against = without});
}

}  // namespace

std::vector<BenchRow> bench_rows(int cpus) {
  Rows rows(cpus);
  for (const Where where : {Where::kOneCpu, Where::kEveryCpu, Where::kApart}) {
    for (const bool sync : {true, false}) add_values(rows, where, sync);
  }
  for (const Where where : {Where::kOneCpu, Where::kEveryCpu}) add_emulators(rows, where);
  for (const Where where : {Where::kOneCpu, Where::kEveryCpu}) add_descriptors(rows, where);
  add_callers(rows);
  add_unnotified(rows);
  return rows.take();
}

}  // namespace sidecall::cli
