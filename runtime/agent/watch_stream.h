// One client of Watch.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "agent/event_hub.h"

namespace sidecall::agent {

// Answers on gRPC's threads and holds none of them while nothing happens. Ends itself.
[[nodiscard]] grpc::ServerWriteReactor<v1::Event>* start_watch_stream(
    EventHub& hub, const SnapshotBoard& board, const v1::WatchRequest& request);

}  // namespace sidecall::agent
