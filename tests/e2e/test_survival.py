"""Whatever dies or moves, a running container's calls are answered."""

import os
import signal

import pytest

from conftest import RELEASE, last_cpu
from harness import cgroup, processes
from harness.bundle import Wish
from harness.wait import eventually


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
    eventually(lambda: first not in agent.workers(), "the worker is dead")
    assert container.run("uname -r").text == RELEASE
    sandbox = control_client.sandbox(container.id)
    assert sandbox.worker_restarts == 1
    assert sandbox.worker_pid not in (0, first)
    assert container.exec("uname -r").text == RELEASE


def test_worker_follows_the_containers_cpus(container, agent, control_client):
    others = os.sched_getaffinity(0) - {last_cpu()}
    if not others:
        pytest.skip("moving a container takes two CPUs; this machine has one")
    target = str(min(others))
    [worker] = agent.workers()
    [helper] = agent.helpers()
    cgroup.set_cpus(container.pid, target)
    eventually(lambda: processes.status_field(worker, "Cpus_allowed_list") == target,
               "the worker is on the container's new CPU")
    eventually(lambda: processes.status_field(helper, "Cpus_allowed_list") == target,
               "its helper is too")
    eventually(lambda: control_client.sandbox(container.id).cpus == target, "the agent says so")
    assert container.run("uname -r").text == RELEASE


def test_every_thread_of_worker_and_helper_is_on_the_containers_cpus(container, agent):
    container.run("mknod /tmp/null c 1 3")  # gives the worker an actor thread
    [worker] = agent.workers()
    [helper] = agent.helpers()
    places = {processes.status_field(f"{pid}/task/{task}", "Cpus_allowed_list")
              for pid in (worker, helper) for task in os.listdir(f"/proc/{pid}/task")}
    assert places == {str(last_cpu())}
