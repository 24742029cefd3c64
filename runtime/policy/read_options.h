// Options of an emulator in a policy, checked against the emulator's row.
#pragma once

#include "emulators/options.h"
#include "emulators/table.h"
#include "oci/json.h"

namespace sidecall::policy {

// What is wrong goes to the node's finding; the emulator itself has the last word (Row::make).
// `rule` is the rule's object, whose "options" may be missing.
[[nodiscard]] emulators::Options read_options(const oci::Node& rule, const emulators::Row& row);

}  // namespace sidecall::policy
