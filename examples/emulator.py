#!/usr/bin/python3
"""A plugin for sidecall: containers see a kernel release and a /proc/cpuinfo of our own."""
import sys
from concurrent import futures

import grpc
from sidecall.v1 import emulator_pb2 as v1, emulator_pb2_grpc as v1_grpc

NAMES = [b"Linux", b"example", b"9.9.9-example", b"#1 SMP", b"x86_64", b"(none)"]
UTSNAME = b"".join(name.ljust(65, b"\0") for name in NAMES)
CPUINFO = b"processor\t: 0\nmodel name\t: as the plugin says\n"


class Emulator(v1_grpc.EmulatorServicer):
    def Describe(self, request, context):
        names = v1.Argument(index=0, kind=v1.Argument.KIND_STRUCT, size=len(UTSNAME), write=True)
        path = v1.Argument(index=1, kind=v1.Argument.KIND_C_STRING, read=True)
        served = [("uname", names), ("openat", path)]
        return v1.Description(calls=[v1.CallDescription(
            syscall=name, arguments=[argument], idempotent=True) for name, argument in served])

    def Serve(self, requests, context):
        return (answer(request.call) for request in requests if request.HasField("call"))


def answer(call):
    if call.syscall == "uname":
        return v1.ServeResponse(id=call.id, writes=[v1.Write(index=0, data=UTSNAME)])
    if call.buffers[0].data != b"/proc/cpuinfo":
        return v1.ServeResponse(id=call.id, proceed=v1.Proceed())
    file = v1.File(contents=CPUINFO, cloexec=call.args[2] & 0o2000000 != 0)  # O_CLOEXEC
    return v1.ServeResponse(id=call.id, file=file)


server = grpc.server(futures.ThreadPoolExecutor(100))  # a thread for each container
v1_grpc.add_EmulatorServicer_to_server(Emulator(), server)
server.add_insecure_port("unix:" + sys.argv[1])
server.start()
server.wait_for_termination()
