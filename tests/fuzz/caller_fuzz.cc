// A hostile caller: any registers and any memory, for every emulator. Nothing is read twice, and
// who has no right reaches no helper.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "fuzz/rows.h"
#include "support/fake_actor.h"
#include "support/fake_sandbox.h"
#include "support/fake_target.h"

namespace {

constexpr std::uint64_t kEndOfRegions = 0x10'0000;

[[noreturn]] void fail(const sidecall::fuzz::Built& built, const char* why) {
  std::fprintf(stderr, "%s: %s\n", std::string(built.row->name).c_str(), why);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sidecall;
  static const std::vector<fuzz::Built> kRows = fuzz::build_rows();
  FuzzedDataProvider input(data, size);
  const fuzz::Built& built = kRows[input.ConsumeIntegralInRange<std::size_t>(0, kRows.size() - 1)];

  support::FakeTarget target;
  target.descriptors = {{5, "five"}};
  target.threads = {{0, 4711}, {7, 4718}};
  target.in_sandbox = input.ConsumeBool();
  target.in_sandbox_pids = input.ConsumeBool();
  target.caller.fsuid = input.ConsumeBool() ? 0 : 1000;
  target.caller.effective_capabilities = input.ConsumeBool() ? ~std::uint64_t{0} : 0;
  target.persona = input.ConsumeIntegral<std::uint32_t>();

  emulators::Call call;
  call.abi = input.ConsumeBool() ? kernel::Abi::kX86_64 : kernel::Abi::kI386;
  call.member = input.ConsumeIntegralInRange<unsigned>(
      0, static_cast<unsigned>(built.row->members.size()) - 1);
  // Pointers into memory of the caller's, which ends where the input does, or plain numbers.
  std::uint64_t address = 0x10000;
  for (std::uint64_t& arg : call.args) {
    if (!input.ConsumeBool()) {
      arg = input.ConsumeIntegral<std::uint64_t>();
      // No second pointer into a region: that is read as often as it is given.
      if (arg < kEndOfRegions) arg &= 0xfff;
      continue;
    }
    arg = address;
    const std::string bytes = input.ConsumeRandomLengthString(5000);
    target.map(address, bytes, input.ConsumeBool());
    if (input.ConsumeBool()) target.map(address + bytes.size(), std::string_view("", 1));
    address += 0x10000;
  }

  support::FakeActor actor;
  actor.files.make_failure = input.ConsumeBool() ? EPERM : EEXIST;
  actor.files.directories = {"/d"};  // to be mounted on
  support::FakeHelper helper;
  helper.emulator = built.emulator.get();
  support::FakeLauncher launcher;
  launcher.emulator = built.emulator.get();
  support::FakeSandbox sandbox;
  emulators::Environment environment{.target = target,
                                     .sandbox = sandbox,
                                     .actor = &actor,
                                     .helper = &helper,
                                     .launcher = &launcher};
  const auto outcome = built.emulator->emulate(call, environment);
  if (!outcome) fail(built, outcome.error().message.c_str());
  if (target.anything_read_twice()) fail(built, "it has read a byte twice");
  const bool powerless =
      !target.in_sandbox || (target.caller.effective_capabilities == 0 && target.caller.fsuid != 0);
  if (powerless && (!helper.instances.empty() || !launcher.programs.started.empty()))
    fail(built, "it serves whom it must not");
  return 0;
}
