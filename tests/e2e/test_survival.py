"""Whatever dies or moves, a running container's calls are answered."""

import os
import signal

import pytest

from conftest import RELEASE, last_cpu
from harness import cgroup, processes
from harness.bundle import Wish
from harness.wait import eventually

# Calls uname again and again until it has been told to stop; says each answer that was wrong.
CALLER = f"""
until test -e /tmp/stop; do
  answer=$(uname -r)
  test "$answer" = {RELEASE} || echo "wrong: $answer"
  echo >> /tmp/calls
done
"""


def calls(container):
    return int(container.exec("cat /tmp/calls 2>/dev/null | wc -l").text)


def test_agent_killed_worker_serves_on(container, agent):
    agent.kill()
    assert container.run("uname -r").text == RELEASE
    assert container.run("mknod /tmp/null c 1 3").status == 0
    assert len(agent.workers()) == 1


def test_agent_stopped_worker_serves_on(container, agent):
    agent.stop()
    assert container.run("uname -r").text == RELEASE


def test_worker_outlives_the_agent_only_as_long_as_its_container(agent, crun):
    with crun.start(Wish(policy="serving")):
        agent.kill()
        assert len(agent.workers()) == 1
    eventually(lambda: not agent.workers(), "the orphaned worker has ended")


def test_worker_killed_is_replaced(container, agent, control_client):
    [first] = agent.workers()
    os.kill(first, signal.SIGKILL)
    assert container.run("uname -r").text == RELEASE
    sandbox = control_client.sandbox(container.id)
    assert sandbox.worker_restarts == 1
    assert sandbox.worker_pid not in (0, first)
    assert container.exec("uname -r").text == RELEASE


def test_no_call_is_lost_or_wrong_while_workers_die(agent, crun, control_client):
    with crun.start(Wish(policy="serving")) as container:
        container.shell.start(CALLER)
        for _ in range(3):
            before = calls(container)
            eventually(lambda: calls(container) > before, "the caller makes calls")
            worker = control_client.sandbox(container.id).worker_pid
            os.kill(worker, signal.SIGKILL)
            eventually(lambda: control_client.sandbox(container.id).worker_pid not in (0, worker),
                       "the worker is replaced")
        container.exec("touch /tmp/stop")
        assert container.shell.finish().text == ""
        assert control_client.sandbox(container.id).worker_restarts == 3


def test_worker_follows_the_containers_cpus(container, agent, control_client):
    others = os.sched_getaffinity(0) - {last_cpu()}
    if not others:
        pytest.skip("moving a container takes two CPUs; this machine has one")
    target = str(min(others))
    [worker] = agent.workers()
    cgroup.set_cpus(container.pid, target)
    eventually(lambda: processes.status_field(worker, "Cpus_allowed_list") == target,
               "the worker is on the container's new CPU")
    eventually(lambda: control_client.sandbox(container.id).cpus == target, "the agent says so")
    assert container.run("uname -r").text == RELEASE


def test_every_thread_of_the_worker_is_on_the_containers_cpus(container, agent):
    container.run("mknod /tmp/null c 1 3")  # gives the worker an actor thread
    [worker] = agent.workers()
    places = {processes.status_field(f"{worker}/task/{task}", "Cpus_allowed_list")
              for task in os.listdir(f"/proc/{worker}/task")}
    assert places == {str(last_cpu())}
