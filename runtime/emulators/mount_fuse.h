// Filesystems of devices and image files that a program serves by FUSE, so that the kernel's code
// for them never reads what the container has written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulators/caller_path.h"
#include "emulators/device_list.h"
#include "emulators/emulator.h"

namespace sidecall::emulators {

// What FUSE takes of helper and launcher: nodes of listed devices, and programs.
[[nodiscard]] Rights fuse_rights();

// Mounts as the caller what a program serves. `make_node` and `drop_node` are what the helper is
// asked for in the last of a step's numbers; it gives a node of the device in the second.
struct NodeSteps {
  std::uint64_t make = 0;
  std::uint64_t drop = 0;
};
[[nodiscard]] Outcome mount_by_program(const kernel::MountArguments& wanted, const CallerPath& path,
                                       const DeviceList& devices, const NodeSteps& nodes,
                                       Environment& environment);

// In the helper and in the launcher, where the step has been found to be allowed.
[[nodiscard]] SysResult<StepResult> give_node(dev_t device, kernel::HostActions& host);
[[nodiscard]] SysResult<StepResult> start_program(const std::vector<std::string>& command,
                                                  const Step& step, kernel::FusePrograms& programs);

}  // namespace sidecall::emulators
