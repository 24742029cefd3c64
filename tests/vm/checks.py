"""What must hold on every kernel, with cgroup v2 alone. Each check begins with an empty node."""

import os
import re
import signal
from pathlib import Path

from harness import cgroup, engines
from harness.bundle import MEBIBYTE, Wish
from harness.wait import eventually, eventually_equal
from node import RELEASE, affinities, node

MEMORY = 96 * MEBIBYTE
ON_CPU_1 = Wish(policy="serving", cpus="1", memory=MEMORY)
WITH_PYTHON = Wish(policy="serving", cpus="1", memory=MEMORY, host_programs=True)

NODES = """
cd /tmp && mknod null c 1 3 && mknod zero c 1 5 &&
echo gone > null && head -c 3 zero | hexdump -v -e '/1 "%x"' && cat null &&
stat -c ' %u:%g %t:%T' null zero
"""
NODES_WORK = "000 0:0 1:3\n 0:0 1:5"

# Calls without a pause until there is a file /tmp/enough; what was ever answered, and how often.
CALLER = """
import os
seen, calls = set(), 0
while not os.path.exists("/tmp/enough"):
    seen.add(os.uname().release)
    calls += 1
print(*seen, calls > 0)
"""
CALL = f"python3 -c '{CALLER}'"

# Several looks of the agent long: a sandbox that makes 1,000 from one to the next is a busy one.
MANY_CALLS = 20_000

NO_SYNC = "this kernel has no synchronous wake-up"


def served(container):
    return container.run("uname -r").text == RELEASE


def stop_calling(node, container):
    (node.crun.root(container.name) / "tmp/enough").touch()
    outcome = container.shell.finish()
    assert (outcome.status, outcome.text) == (0, f"{RELEASE} True"), outcome


def cgroup_of(pid):
    return cgroup.directory(pid, "cpu")


def calls_are_served_with_the_right_values():
    with node() as ours, ours.crun.start(ON_CPU_1) as container:
        assert served(container)
        nodes = container.run(NODES)
        assert (nodes.status, nodes.text) == (0, NODES_WORK), nodes
        memory = container.run("free -k").text.splitlines()[1]
        assert memory.startswith("Mem:") and int(memory[4:19]) == MEMORY // 1024, memory
        denied = container.run("mknod /tmp/disk b 8 0")
        assert "Operation not permitted" in denied.text, denied


def synchronous_wake_up_is_used_or_its_absence_said_once():
    [wanted] = re.findall(r"sidecall_sync=(\w+)", Path("/proc/cmdline").read_text())
    has_it = wanted == "on"
    with node() as ours, ours.crun.start(ON_CPU_1) as container:
        with container.exec_shell() as second:  # which has a listener of its own
            assert second.run("uname -r").text == RELEASE
            assert served(container)
            sandbox = ours.sandbox(container)
            assert sandbox["listeners"] == 2, sandbox
            state = "SYNC_WAKE_UP_ON" if has_it else "SYNC_WAKE_UP_UNAVAILABLE"
            assert sandbox["sync_wake_up"] == state, sandbox
        assert ours.said(NO_SYNC) == (0 if has_it else 1), ours.log.read_text()


def the_worker_is_on_the_cpus_of_its_sandbox_and_follows_them():
    with node() as ours, ours.crun.start(WITH_PYTHON) as container:
        worker = ours.worker()
        assert affinities(worker) == {"1"}, affinities(worker)
        container.shell.start(CALL)
        for cpus in ["0", "0-1", "1", "0"]:
            cgroup.set_cpus(container.pid, cpus)
            eventually_equal(lambda: affinities(worker), {cpus}, "the worker's CPUs")
            eventually_equal(lambda: ours.sandbox(container)["cpus"], cpus, "what ls says of them")
        stop_calling(ours, container)
        assert ours.worker() == worker


def a_worker_stays_in_the_cgroup_of_the_agent():
    with node() as ours, ours.crun.start(WITH_PYTHON) as container:
        container.shell.start(CALL)
        seen = set()

        def has_called_a_lot():
            seen.add(cgroup_of(ours.worker()))
            return ours.calls(container) > MANY_CALLS

        eventually(has_called_a_lot, "there are many calls")
        stop_calling(ours, container)
        assert seen == {cgroup_of(ours.pid)} != {cgroup_of(container.pid)}, seen


def a_worker_that_the_sandbox_pays_for_is_in_its_cgroup():
    with node("sandbox") as ours:
        container = ours.crun.start(ON_CPU_1)
        place = cgroup_of(container.pid)
        assert place.name == container.name, place
        eventually_equal(lambda: cgroup_of(ours.worker()), place, "the worker's cgroup")
        assert served(container)
        with container.exec_shell() as second:
            assert second.run("uname -r").text == RELEASE
        container.stop()
        assert container.shell.errors() == "", container.shell.errors()
        assert not place.exists(), f"{place} is left"
        ours.wait_until_served_to_the_end()
        # Nothing of the first is in the way of another of its name.
        again = ours.crun.start(ON_CPU_1)
        eventually_equal(lambda: cgroup_of(ours.worker()), cgroup_of(again.pid), "its cgroup")
        assert served(again)
        os.kill(again.pid, signal.SIGKILL)
        again.stop()
        assert not cgroup.ROOT.joinpath(engines.CGROUP, again.name).exists()


def a_worker_ends_with_its_container():
    """Before 6.11 a blocked RECV does not: the worker's own thread learns it by poll."""
    for end in [lambda container: None,
                lambda container: os.kill(container.pid, signal.SIGKILL)]:
        with node() as ours:
            with ours.crun.start(ON_CPU_1) as container:
                assert served(container)
                worker = ours.worker()
                with container.exec_shell() as second:
                    assert second.run("uname -r").text == RELEASE
                    eventually_equal(lambda: ours.sandbox(container)["listeners"], 2, "listeners")
                eventually_equal(lambda: ours.sandbox(container)["listeners"], 1, "listeners")
                assert served(container) and ours.worker() == worker
                end(container)
            ours.wait_until_served_to_the_end()
            assert not ours.said("died"), ours.log.read_text()


def deaths_of_worker_and_agent_only_delay_a_call():
    with node() as ours, ours.crun.start(ON_CPU_1) as container:
        worker = ours.worker()
        os.kill(worker, signal.SIGKILL)
        assert served(container)
        eventually(lambda: ours.workers() and ours.worker() != worker, "there is another worker")
        ours.kill()
        assert served(container)
        ours.start()
        eventually_equal(lambda: ours.sandbox(container)["state"], "STATE_SERVING", "its state")
        worker = ours.worker()
        os.kill(worker, signal.SIGKILL)
        assert served(container)


ALL = [
    calls_are_served_with_the_right_values,
    synchronous_wake_up_is_used_or_its_absence_said_once,
    the_worker_is_on_the_cpus_of_its_sandbox_and_follows_them,
    a_worker_stays_in_the_cgroup_of_the_agent,
    a_worker_that_the_sandbox_pays_for_is_in_its_cgroup,
    a_worker_ends_with_its_container,
    deaths_of_worker_and_agent_only_delay_a_call,
]
