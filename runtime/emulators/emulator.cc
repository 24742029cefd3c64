#include "emulators/emulator.h"

namespace sidecall::emulators {

SysResult<StepResult> Emulator::perform(const Step&, kernel::HostActions&) const {
  return sys_failure(EPERM);
}

SysResult<StepResult> Emulator::launch(const Step&, kernel::FusePrograms&) const {
  return sys_failure(EPERM);
}

}  // namespace sidecall::emulators
