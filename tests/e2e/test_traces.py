"""After containers end, nothing of them is left."""

import os

from conftest import RELEASE
from harness import processes
from harness.bundle import Wish
from harness.wait import eventually, eventually_equal

CYCLES = 50


def traces(agent):
    """What containers could leave in the agent and around it."""
    return {
        "descriptors": len(processes.descriptors(agent.pid)),
        "listeners": processes.listeners(agent.pid),
        "workers": agent.workers(),
        "run directory": sorted(os.listdir(agent.run_dir)),
    }


def test_container_leaves_nothing(agent, engine, control_client):
    control_client.sandboxes()  # what the connection itself costs is not the container's
    before = traces(agent)
    with engine.start(Wish(policy="serving")) as container:
        container.run("mknod /tmp/null c 1 3")
        container.exec("uname -r")
        assert processes.listeners(agent.pid) >= 1
        assert len(control_client.sandboxes()) == 1
    agent.wait_until_empty(control_client)
    eventually_equal(lambda: traces(agent), before, "the agent after the container")


def test_ended_exec_leaves_nothing(agent, container, control_client):
    for _ in range(5):
        assert container.exec("uname -r").text == RELEASE
    eventually(lambda: control_client.sandbox(container.id).listeners == 1,
               "only the container's own listener is left")
    eventually(lambda: processes.listeners(agent.pid) == 1, "and so in the agent")


def test_many_containers_leave_nothing(agent, runtime, control_client):
    directory = runtime.prepare("cycle", Wish(policy="serving"), ["uname", "-r"])

    def cycle():
        assert runtime.run_bundle("cycle", directory).text == RELEASE

    for _ in range(5):
        cycle()
    agent.wait_until_empty(control_client)
    before, threads = traces(agent), processes.threads(agent.pid)
    for _ in range(CYCLES):
        cycle()
    agent.wait_until_empty(control_client)
    eventually_equal(lambda: traces(agent), before, f"the agent after {CYCLES} containers")
    # gRPC's pool breathes; a thread lost per container would be ten times as many.
    assert processes.threads(agent.pid) - threads < CYCLES / 10
    runtime.clean_up("cycle")
