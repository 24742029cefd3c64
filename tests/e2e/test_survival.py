"""Whatever dies or moves, a running container's calls are answered."""

import os
import signal

import pytest

from conftest import RELEASE, last_cpu
from harness import blows, cgroup, footprint, processes
from harness.bundle import MEBIBYTE, Wish
from harness.load import Load
from harness.wait import eventually, eventually_equal


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


def wait_until_served(agent, container):
    """Until the agent has taken the container over, or has a worker for it again."""
    with agent.control() as client:
        def there():
            return [box for box in client.sandboxes() if box.id == container.id and box.worker_pid]
        [sandbox] = eventually(there, "the sandbox has a worker")
        return client.sandbox(sandbox.id)


def figures(sandbox):
    return {call.name: call.calls for call in sandbox.syscalls if call.calls}


def test_next_agent_takes_everything_over(agent, crun):
    with crun.start(Wish(policy="serving", cpus=str(last_cpu()))) as container:
        assert container.run("uname -r").text == RELEASE
        with container.exec_shell() as second:
            before = wait_until_served(agent, container)
            agent.kill()
            assert container.run("uname -r").text == RELEASE
            agent.start()
            after = wait_until_served(agent, container)
            assert after.worker_pid == before.worker_pid
            assert (after.listeners, after.pid, after.policy, after.bundle, after.since_unix_ms) == \
                (2, before.pid, before.policy, before.bundle, before.since_unix_ms)
            assert dict(after.annotations) == dict(before.annotations)
            assert figures(after)["uname"] == figures(before)["uname"] + 1
            assert second.run("uname -r").text == RELEASE
        assert container.exec("uname -r").text == RELEASE
        os.kill(after.worker_pid, signal.SIGKILL)
        assert container.run("uname -r").text == RELEASE
        replaced = wait_until_served(agent, container)
        assert replaced.worker_restarts == 1
        assert replaced.worker_pid != after.worker_pid
    with agent.control() as client:
        agent.wait_until_empty(client)
    assert not list((agent.run_dir / "sandboxes").iterdir())


def test_worker_that_dies_while_there_is_no_agent_is_replaced_by_the_next(agent, crun):
    with crun.start(Wish(policy="serving")) as container:
        agent.kill()
        [worker] = agent.workers()
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: not agent.workers(), "the worker is dead")
        container.shell.start("uname -r; mknod /tmp/null c 1 3 && echo made")
        agent.start()
        assert container.shell.finish().text.split() == [RELEASE, "made"]
        assert wait_until_served(agent, container).worker_restarts == 1


def test_keeper_killed_is_replaced_and_knows_everything(agent, crun):
    with crun.start(Wish(policy="serving")) as container:
        [keeper] = agent.keepers()
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: agent.keepers() not in ([], [keeper]), "there is another keeper")
        eventually(lambda: processes.listeners(agent.keepers()[0]) == 1, "it holds the listener")
        agent.kill()
        agent.start()
        assert wait_until_served(agent, container).worker_restarts == 0
        assert container.run("uname -r").text == RELEASE


def test_without_agent_and_keeper_the_worker_serves_to_the_end(agent, crun):
    with crun.start(Wish(policy="serving")) as container:
        agent.kill()
        agent.end_keepers()
        assert container.run("uname -r").text == RELEASE
        agent.start()
        assert "descriptors are lost" in agent.log.read_text()
        assert container.run("uname -r").text == RELEASE
    eventually(lambda: not agent.workers(), "the worker has ended with its container")


@pytest.mark.parametrize("damage, cause", [
    pytest.param((b"record 1 ", b"record 99 "), "version 99", id="another-version"),
    pytest.param((b"\n", b"\n\n"), "damaged", id="damaged"),
])
def test_record_that_is_no_use_is_refused_and_not_guessed(damage, cause, agent, crun):
    with crun.start(Wish(policy="serving")) as container:
        agent.kill()
        [record] = (agent.run_dir / "sandboxes").iterdir()
        good = record.read_bytes()
        record.write_bytes(good.replace(*damage, 1))
        agent.start()
        refused = [line for line in agent.log.read_text().splitlines() if cause in line]
        assert len(refused) == 1 and "not taken over" in refused[0], refused
        assert container.run("uname -r").text == RELEASE
        agent.kill()
        record.write_bytes(good)  # as the release that wrote it would find it
        agent.start()
        wait_until_served(agent, container)
        assert container.run("uname -r").text == RELEASE


def test_keeper_is_small_and_has_no_rights(agent, crun):
    with crun.start(Wish(policy="serving")):
        [keeper] = agent.keepers()
        for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]:
            assert int(processes.status_field(keeper, name), 16) == 0, name
        assert processes.status_field(keeper, "NoNewPrivs") == "1"
        assert processes.status_field(keeper, "Seccomp") == "2"
        assert processes.threads(keeper) == 1


MEMORY = 64 * MEBIBYTE


def test_calls_of_a_busy_container_are_all_answered(agent, crun, programs):
    """Whatever dies, and in whichever order; tests/soak/survival.py is the long form."""
    with crun.start(Wish(policy="serving", memory=MEMORY)) as container:
        load = Load(programs, crun, container, RELEASE, MEMORY)
        for blow in [*[blows.worker_dies] * 8, blows.agent_dies, blows.worker_and_agent_die,
                     blows.keeper_dies, blows.worker_dies, blows.agent_dies]:
            blow(agent)
        outcome = load.finish()
    assert outcome.wrong == 0, outcome
    assert outcome.calls > 40, outcome  # several of each thread, on whatever machine


def test_containers_that_come_and_go_leave_nothing(agent, crun):
    """tests/soak/cycles.py is the long form."""
    footprint.cycle(agent, crun, 3)  # what is made once and kept
    before = footprint.of(agent)
    footprint.cycle(agent, crun, 10)
    eventually_equal(lambda: footprint.of(agent), before, "what the agent and its keeper hold")


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


def test_the_worker_of_a_busy_container_is_in_its_cgroup(agent, crun, programs, control_client):
    with crun.start(Wish(policy="serving", memory=MEMORY)) as container:
        theirs, home = (cgroup.directory(pid, "cpu") for pid in (container.pid, agent.pid))
        if not theirs.is_relative_to(cgroup.ROOT / "cpu"):
            pytest.skip("the cpu controller has no hierarchy of its own")
        worker = control_client.sandbox(container.id).worker_pid
        assert cgroup.directory(worker, "cpu") == home
        load = Load(programs, crun, container, RELEASE, MEMORY)
        eventually_equal(lambda: cgroup.directory(worker, "cpu"), theirs, "the worker's cgroup")
        assert load.finish().wrong == 0
        eventually_equal(lambda: cgroup.directory(worker, "cpu"), home, "the worker's, afterwards")
