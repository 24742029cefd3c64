#!/bin/bash
# What the programs of the hot path must not contain, read from the programs themselves.
# Usage: linkage_test.sh DIRECTORY-OF-PROGRAMS
set -u
bin="$1"
failed=0

# has PROGRAM PATTERN: among the program's libraries or symbols.
has() {
  grep -qE "$2" <(ldd "$bin/$1" 2>/dev/null; nm -C "$bin/$1"; nm -CD "$bin/$1" 2>/dev/null)
}
lacks() {
  if has "$1" "$2"; then
    echo "$1 contains $3" >&2
    failed=1
  fi
}

grpc='libgrpc|grpc::|grpc_'
protobuf='libprotobuf|google::protobuf'
json='nlohmann'

# The patterns are right: where these are linked they are found.
has sidecalld "$grpc" && has sidecalld "$protobuf" && has sidecall-hook "$json" || {
  echo "the patterns of this test find nothing in programs that have it all" >&2
  exit 1
}

lacks sidecall-worker "$grpc" gRPC
lacks sidecall-worker "$protobuf" protobuf
lacks sidecall-worker "$json" "a JSON library"
lacks sidecall-keeper "$grpc" gRPC
lacks sidecall-keeper "$protobuf" protobuf
lacks sidecall-hook "$grpc" gRPC
lacks sidecall-hook "$protobuf" protobuf
lacks sidecall-runtime "$grpc" gRPC
lacks sidecall-runtime "$protobuf" protobuf
exit "$failed"
