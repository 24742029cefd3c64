// One thread in RECV for as long as that is enough.
#pragma once

#include "bench/shape.h"

namespace sidecall::bench {

void elastic(const Service& service);

}  // namespace sidecall::bench
