// sidecall profile record.
#pragma once

#include "cli/command_line.h"

namespace sidecall::cli {

// Adds it to the group `profile`.
void add_profile_record(CommandLine& profile);

}  // namespace sidecall::cli
