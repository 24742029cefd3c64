"""What comes to the agent's sockets and to the hook from the wrong hands disturbs nobody."""

import array
import json
import os
import socket
import subprocess

import pytest

from conftest import RELEASE
from harness import processes
from harness.bundle import Wish
from harness.wait import eventually_equal

STATE = json.dumps({
    "ociVersion": "1.0.2", "fds": ["seccompFd"], "pid": os.getpid(), "metadata": "serving",
    "state": {"ociVersion": "1.0.2", "id": "intruder", "status": "creating", "pid": os.getpid(),
              "bundle": "/nowhere"}}).encode()

# What is sent to seccomp.sock: bytes, and how many descriptors (ends of a pipe) go with them.
INTRUSIONS = {
    "nothing": (b"", 0),
    "garbage": (b"\0\xff{]" * 100, 0),
    "text-without-end": (b'{"id": "' + b"x" * (4 << 20), 0),
    "deep-nesting": (b"[" * 200_000, 0),
    "no-descriptor": (STATE, 0),
    "two-descriptors": (STATE, 2),
    "not-a-listener": (STATE, 1),
    "garbage-with-descriptor": (b"garbage", 1),
    "many-descriptors": (STATE, 250),
    "state-of-another-kind": (b'{"id": "intruder", "pid": "1"}', 1),
}


def intrude(path, data, descriptors):
    """Sends to a socket; that the other side hangs up early is its right."""
    pipe = os.pipe()
    fds = array.array("i", [pipe[i % 2] for i in range(descriptors)])
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(path))
        try:
            if data:
                ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if fds else []
                sent = connection.sendmsg([data], ancillary)
                connection.sendall(data[sent:])
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        except (BrokenPipeError, ConnectionResetError):
            pass
    for fd in pipe:
        os.close(fd)


@pytest.fixture
def served(agent, crun):
    with crun.start(Wish(policy="serving")) as container:
        yield container


def settled(agent):
    return len(processes.descriptors(agent.pid)), agent.workers()


@pytest.mark.parametrize("intrusion", list(INTRUSIONS))
def test_bad_listener_disturbs_nobody(intrusion, agent, served, control_client):
    known = [sandbox.id for sandbox in control_client.sandboxes()]
    before = settled(agent)
    intrude(agent.run_dir / "seccomp.sock", *INTRUSIONS[intrusion])
    eventually_equal(lambda: settled(agent), before, "the agent")
    assert [sandbox.id for sandbox in control_client.sandboxes()] == known
    assert served.run("uname -r").text == RELEASE
    assert control_client.healthy()


def test_silent_connections_are_not_waited_for(agent, served, control_client):
    """Connections that say nothing, or half of something, hold up no container."""
    held = []
    for data in [b"", STATE[:40]] * 20:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(agent.run_dir / "seccomp.sock"))
        connection.sendall(data)
        held.append(connection)
    assert served.exec("uname -r").text == RELEASE
    for connection in held:
        connection.close()
    eventually_equal(lambda: processes.listeners(agent.pid), 1, "listeners in the agent")


@pytest.mark.parametrize("question", [
    pytest.param("", id="nothing"),
    pytest.param("createRuntime\n", id="no-state"),
    pytest.param("createRuntime\n{", id="cut-state"),
    pytest.param('createRuntime\n{"id": "../x", "status": "creating", "bundle": "/"}', id="path"),
    pytest.param("destroyRuntime\n{}", id="unknown-stage"),
    pytest.param("createRuntime\n" + "x" * (4 << 20), id="huge"),
])
def test_bad_hook_message_gets_one_line_and_disturbs_nobody(question, agent, served):
    before = settled(agent)
    answer = agent.ask(question)
    assert answer != "ok\n"
    assert answer.count("\n") <= 1
    eventually_equal(lambda: settled(agent), before, "the agent")
    assert served.run("uname -r").text == RELEASE


def run_hook(agent, stage, data):
    return subprocess.run(agent.hook(stage), input=data, capture_output=True, timeout=60)


@pytest.mark.parametrize("data", [
    pytest.param(b"", id="empty"),
    pytest.param(b"\0\xff", id="garbage"),
    pytest.param(b"[]", id="another-type"),
    pytest.param(b"{" + b" " * (20 << 20) + b"}", id="huge"),
])
@pytest.mark.parametrize("stage", ["precreate", "createRuntime"])
def test_hook_with_bad_input_says_so_in_one_line(stage, data, agent):
    done = run_hook(agent, stage, data)
    assert (done.returncode, done.stdout) == (1, b"")
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_hook_without_standard_input_says_so_in_one_line(agent):
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *agent.hook("createRuntime")],
                          capture_output=True, timeout=60)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_second_agent_is_refused_and_the_first_undisturbed(agent, served, programs):
    done = subprocess.run([programs / "sidecalld", *agent.places], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 1
    assert str(agent.pid) in done.stderr
    assert served.run("uname -r").text == RELEASE
