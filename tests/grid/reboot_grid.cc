// reboot(2), pretended. Nothing of this runs natively, and no case holds CAP_SYS_BOOT: with it the
// kernel ends the pid namespace that the grid runs in.
#include <linux/capability.h>
#include <linux/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "grid/caller.h"

namespace sidecall::grid {
namespace {

constexpr unsigned kCommands[] = {LINUX_REBOOT_CMD_RESTART,    LINUX_REBOOT_CMD_HALT,
                                  LINUX_REBOOT_CMD_CAD_ON,     LINUX_REBOOT_CMD_CAD_OFF,
                                  LINUX_REBOOT_CMD_POWER_OFF,  LINUX_REBOOT_CMD_RESTART2,
                                  LINUX_REBOOT_CMD_SW_SUSPEND, LINUX_REBOOT_CMD_KEXEC};

long reboot(unsigned long command, unsigned long first = LINUX_REBOOT_MAGIC1,
            unsigned long second = LINUX_REBOOT_MAGIC2) {
  return ::syscall(SYS_reboot, first, second, command, nullptr);
}

void is_pretended(const Checks& check) {
  for (const unsigned command : kCommands) {
    check.gives("command " + std::to_string(command), reboot(command), 0);
  }
}

constexpr Case kCases[] = {
    {"by root", Off::kFails,
     [](const Checks& check) {
       drop_capability(check, CAP_SYS_BOOT);
       is_pretended(check);
     },
     Where::kContainerOnly},
    {"by a user", Off::kFails,
     [](const Checks& check) {
       act_as(check, {.uid = 1234, .gid = 1234}, {});
       is_pretended(check);
     },
     Where::kContainerOnly},
    {"by a thread", Off::kFails,
     [](const Checks& check) {
       drop_capability(check, CAP_SYS_BOOT);
       in_thread([&] { is_pretended(check); });
     },
     Where::kContainerOnly},
    {"garbage above the registers", Off::kFails,
     [](const Checks& check) {
       drop_capability(check, CAP_SYS_BOOT);
       // None where a long has 32 bits.
       const auto garbage = static_cast<unsigned long>(0xdeadbeefULL << 32U);
       check.gives("the call",
                   reboot(garbage | LINUX_REBOOT_CMD_RESTART, garbage | LINUX_REBOOT_MAGIC1,
                          garbage | LINUX_REBOOT_MAGIC2),
                   0);
     },
     Where::kContainerOnly},
    {"commands that there are not", Off::kHolds,
     [](const Checks& check) {
       drop_capability(check, CAP_SYS_BOOT);
       for (const unsigned command : {1U, 0x01234568U, 0xffffffffU, 0x80000000U}) {
         check.fails("command " + std::to_string(command), reboot(command), EPERM);
       }
     },
     Where::kContainerOnly},
    {"numbers that are not magic", Off::kHolds,
     [](const Checks& check) {
       drop_capability(check, CAP_SYS_BOOT);
       for (const unsigned command : kCommands) {
         check.fails("the first", reboot(command, 0), EPERM);
         check.fails("the second", reboot(command, LINUX_REBOOT_MAGIC1, 0), EPERM);
         check.fails("both", reboot(command, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_MAGIC1), EPERM);
       }
     },
     Where::kContainerOnly},
};

}  // namespace

Grid grid() {
  return {.name = "reboot",
          .policy = R"({"rules": [{"emulate": "reboot", "options": {"mode": "pretend"}}]})",
          .themes = {{"pretended", kCases}}};
}

}  // namespace sidecall::grid
