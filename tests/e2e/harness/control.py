"""A client of the agent's control service that shares nothing with sidecall's own."""

from pathlib import Path

import grpc

from . import messages

PROTO = Path(__file__).resolve().parents[3] / "proto"


def load_messages(work):
    """The module of agent.proto's messages, generated in `work`."""
    return messages.load(work, PROTO, "sidecall/v1/agent.proto", "sidecall.v1.agent_pb2")


class Control:
    """One channel to control.sock. A context manager."""

    # grpc.health.v1.HealthCheckResponse with status SERVING, as it stands on the wire.
    SERVING = b"\x08\x01"

    def __init__(self, socket, messages):
        self._messages = messages
        self._channel = grpc.insecure_channel(f"unix:{socket}")

    def _call(self, method, request, response_type):
        return self._channel.unary_unary(
            f"/sidecall.v1.Agent/{method}", type(request).SerializeToString,
            response_type.FromString)(request, timeout=30)

    def sandboxes(self):
        reply = self._call("ListSandboxes", self._messages.ListSandboxesRequest(),
                           self._messages.ListSandboxesResponse)
        return list(reply.sandboxes)

    def sandbox(self, sandbox_id):
        return self._call("GetSandbox", self._messages.GetSandboxRequest(id=sandbox_id),
                          self._messages.Sandbox)

    def healthy(self):
        check = self._channel.unary_unary("/grpc.health.v1.Health/Check")
        return check(b"", timeout=30) == self.SERVING

    def close(self):
        self._channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
